// Writes the log of stages as a Kanata log, for the viewer Konata
// (https://github.com/shioyadan/Konata/blob/master/docs/kanata-log-format.md).
//
//   1  Each persist, each fence, each other stall at the head of a store queue and each refresh of
//      a channel is a row. Rows are in the order of their begins.
//   2  Lane 0 has the stages of a row, lane 1 its stalls, named by their cause.
//   3  An arrow leads to a fence from each persist of its core since the fence before, and from a
//      fence to each later persist of its core. An arrow leads from a log entry to the next write
//      of the line that it describes.
//   4  Times are in cycles of the cores, rounded down.
//
// The format demands commands in the order of time and rows in the order of their begins. Rows are
// therefore kept until the end: about 1 KB each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pmemsim/timeline/persists.hpp"
#include "pmemsim/timeline/regions.hpp"
#include "pmemsim/timeline/source_names.hpp"

namespace pmemsim {

class KanataTimeline {
 public:
  KanataTimeline(Hertz frequency, const Intervals& shown, SourceNames& sources)
      : frequency_(frequency), shown_(shown), sources_(sources) {}

  void add(const StageEvent& event);
  // Writes all rows. Throws Error if the file can't be written.
  void write(const std::string& path);

  std::uint64_t rows() const { return rows_.size(); }
  std::uint64_t arrows() const { return arrows_; }

 private:
  // One command of the file, and the order of commands within a cycle.
  struct Command {
    enum Kind : std::uint8_t { kBegin, kEndStage, kBeginStage, kArrow, kRetire };
    std::uint64_t cycle;
    Kind kind;
    std::size_t row;        // its number in the file
    std::size_t other = 0;  // kArrow: the producer's; kEndStage, kBeginStage: index of the stage
    auto operator<=>(const Command&) const = default;
  };
  struct RowStage {
    const char* name;
    std::uint8_t lane;
    Time from, until;
  };
  struct Row {
    Time begin, end;
    std::uint32_t thread = 0;
    bool flushed = false;  // it has been dropped, or another write has taken its bytes
    std::string label, detail;
    std::vector<RowStage> stages{};
    std::vector<std::size_t> producers{};  // rows that it waits for
  };
  struct Stall {
    std::uint8_t cause;
    Time from, until;
  };
  // Per core: what the next fence waits for, and what the next persists follow.
  struct Core {
    std::optional<Stall> stall{};
    // Persists by the time at which their flush or store left the store queue.
    std::vector<std::pair<Time, std::size_t>> persists{};
    std::vector<std::pair<Time, std::size_t>> fences{};  // by the time at which they left
  };

  Core& core(std::uint32_t number);
  std::size_t add_row(Row row);
  void add_stall_row(std::uint32_t core, const Stall& stall);
  void add_fence(const StageEvent& event);
  void add_persist(const Persist& write);
  void add_refresh(const StageEvent& event);
  void connect();
  std::uint64_t cycle(Time when) const;
  std::vector<std::size_t> in_order() const;
  std::vector<Command> commands(const std::vector<std::size_t>& positions);
  static std::string text_of(const Command& command, const Row& row);

  const Hertz frequency_;
  const Intervals& shown_;
  SourceNames& sources_;
  PersistTracker persists_;
  std::vector<Core> cores_;
  std::vector<Row> rows_;
  std::unordered_map<std::uint64_t, std::size_t> log_rows_;  // by line: the last log entry
  std::uint64_t arrows_ = 0;
};

}  // namespace pmemsim
