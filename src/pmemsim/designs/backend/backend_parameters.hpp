// Parameters of how the backend executes its operations, and injected faults that leave parts of it
// out, to show what each part is good for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/designs/backend/operation_graph.hpp"

namespace pmemsim {

// Injected faults: each takes one protective mechanism away. They concern every operation; the row
// of one lists them as its parameters.
struct BackendFaults {
  bool order = false;
  bool metadata = false;
  bool data_first = false;
  bool registers = false;
  bool reserved = false;
  bool prepared_line = false;
  bool prepared_data = false;
  bool metadata_changed = false;
  bool used_twice = false;
  bool publication = false;
  bool log_entries = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("order", order, "a write doesn't wait for the one of its line before it");
    visit("metadata", metadata, "metadata are written on their own, before their data");
    visit("data_first", data_first,
          "data are written on their own, and their metadata when they are accepted");
    visit("registers", registers,
          "what operations keep in persistent registers changes when a write is sent");
    visit("reserved", reserved,
          "writes with a reserved entry go past the operations, straight into their queue");
    visit("prepared_line", prepared_line,
          "a write takes the oldest prepared result, whichever line that is for");
    visit("prepared_data", prepared_data,
          "a write takes a prepared result of its line whatever data that is for");
    visit("metadata_changed", metadata_changed,
          "prepared results outlive the metadata that they were worked out with");
    visit("used_twice", used_twice,
          "a prepared result that a write has used is there for the next one of its line");
    visit("publication", publication,
          "a commit doesn't wait for the entries of what was written before it");
    visit("log_entries", log_entries,
          "the entries of log records stay in the cache until a commit, as those of data");
  }
};

// The time at which the sender of a write is notified that it is persistent.
enum class Acknowledge : std::uint8_t {
  kDone,     // when its operations are done and a queue has accepted it
  kArrival,  // at once, as if its operations took no time; they are executed afterwards
};

inline std::span<const std::string_view> choice_names(Acknowledge) {
  static constexpr std::string_view kNames[] = {"done", "arrival"};
  return kNames;
}

// The writes that are persistent in one step with their line's entry (Janus, 4.3.2).
enum class MetadataAtomicity : std::uint8_t {
  kWriteThrough,  // all writes
  kSelective,     // writes whose entry recovery needs (designs/backend/deferred_entries.hpp)
};

inline std::span<const std::string_view> choice_names(MetadataAtomicity) {
  static constexpr std::string_view kNames[] = {"write-through", "selective"};
  return kNames;
}

// The time at which prepared results are recomputed after other writes have changed the metadata
// that they were computed from.
enum class OutdatedResults : std::uint8_t {
  // When their write arrives; not at all if the line's own metadata have changed (Janus).
  kWhenWritten,
  kAtOnce,  // at once (PMWeaver, V-C3)
  kNever,   // never: results are used as if none were outdated
};

inline std::span<const std::string_view> choice_names(OutdatedResults) {
  static constexpr std::string_view kNames[] = {"when-written", "at-once", "never"};
  return kNames;
}

struct BackendParameters {
  Execution execution = Execution::kParallel;
  Acknowledge acknowledge = Acknowledge::kDone;
  MetadataAtomicity metadata_atomicity = MetadataAtomicity::kWriteThrough;
  std::uint32_t units_per_core = 4;
  Picoseconds miss_latency{};
  OutdatedResults outdated_results = OutdatedResults::kWhenWritten;
  BackendFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("execution", execution, {},
          "Whether operations are done one after the other, or their sub-operations side by side "
          "where no result is needed");
    visit(
        "acknowledge", acknowledge, {},
        "done: a write goes to its queue when its operations are done; arrival: at once, and they "
        "are done behind it, as if what has arrived couldn't be lost");
    visit("metadata_atomicity", metadata_atomicity, {},
          "write-through: a line's entry is written together with its data; selective: those of "
          "lines that an undo log would restore are written when their region commits");
    visit("units_per_core", units_per_core, {.least = 0, .most = 1024},
          "Lines whose sub-operations can be under way at a time, for each core of the machine, "
          "which share them; 0: as many as are wanted");
    visit("miss_latency", miss_latency, {.most = 1e9},
          "What it takes to get a line of metadata that isn't cached; 0: a read of PM, with its "
          "queues and banks");
    visit("outdated_results", outdated_results, {},
          "When results that other writes have outdated are worked out anew: when-written, when "
          "their own write comes, and not at all if their line's counter has changed; at-once; "
          "never, which no hardware may do, but shows what it costs");
  }
};

}  // namespace pmemsim
