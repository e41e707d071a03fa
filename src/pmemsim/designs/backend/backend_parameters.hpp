// Parameters of the backend's execution of its operations, and injected faults that disable parts
// of the backend.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/designs/backend/operation_graph.hpp"

namespace pmemsim {

// Injected faults: each disables one protective mechanism or falsifies a statistic. They concern
// every operation, but only the row of one operation lists them as its parameters.
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
  bool outdated = false;
  bool late = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("order", order, "a write doesn't wait for an earlier write of its line");
    visit("metadata", metadata, "metadata are written separately, before their data");
    visit("data_first", data_first,
          "data are written separately, and their metadata after their acceptance");
    visit("registers", registers, "persistent registers of operations change when a write is sent");
    visit("reserved", reserved, "writes with a reserved entry bypass the operations");
    visit("prepared_line", prepared_line,
          "a write uses the oldest prepared result, even of another line");
    visit("prepared_data", prepared_data,
          "a write uses a prepared result of its line, even for other data");
    visit("metadata_changed", metadata_changed,
          "prepared results stay valid when the metadata that they depend on change");
    visit("used_twice", used_twice,
          "a used prepared result stays valid for the next write of its line");
    visit("publication", publication, "a commit doesn't wait for the entries of earlier writes");
    visit("log_entries", log_entries,
          "the entries of log records stay in the cache until a commit, like those of data");
    visit("outdated", outdated,
          "the time to recompute prepared results that other writes have outdated is missing");
    visit("late", late, "results that were ready in time count as late, and late ones as ready");
  }
};

// The time at which the sender of a write is notified that it is persistent.
enum class Acknowledge : std::uint8_t {
  kDone,     // when its operations have finished and a queue has accepted it
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
          "Whether operations run one after the other, or independent sub-operations run in "
          "parallel");
    visit("acknowledge", acknowledge, {},
          "When a write enters its queue. done: after its operations; arrival: at once, with its "
          "operations afterwards, as if arrived data could not be lost");
    visit("metadata_atomicity", metadata_atomicity, {},
          "write-through: a line's entry is written together with its data; selective: entries of "
          "lines that an undo log restores are written at their region's commit");
    visit("units_per_core", units_per_core, {.least = 0, .most = 1024},
          "Number of lines, per core of the machine, whose sub-operations can run at the same "
          "time. The cores share the units; 0: no limit");
    visit("miss_latency", miss_latency, {.most = 1e9},
          "Time to fetch an uncached line of metadata; 0: the time of a read of PM, with its "
          "queues and banks");
    visit("outdated_results", outdated_results, {},
          "When results that other writes have outdated are recomputed. when-written: when their "
          "own write arrives, unless their line's counter has changed; at-once: immediately; "
          "never: not at all, which is unsound and only shows the cost");
  }
};

}  // namespace pmemsim
