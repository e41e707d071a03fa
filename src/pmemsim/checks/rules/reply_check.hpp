// Rule P12 of program_check.hpp: the replies of one thread to a socket, a pipe or a device.
//
// A thread's operation begins at a request, or at the first store to PM after a reply. A reply is
// reported if one of these conditions holds:
//
//   1. Its bytes are words of PM that are possibly lost, or computed from such words, as in P9. The
//      thread itself has stored the words, or another thread has certainly stored them before.
//   2. All that the thread has stored to PM in the operation is possibly lost. In addition, the
//      store is flushed but not fenced, or the thread itself makes it persistent before its next
//      operation.
//
// Stores inside regions are not considered. A word whose line is never flushed again is a finding
// of P1 alone. Rules can't decide about some replies, which are notes:
//
//   N4  file: condition 1, but the bytes go to a file, a terminal, or the program's standard output
//       or error.
//   N5  own_store: a store of the operation is possibly lost, but another one is persistent (a
//       log's, perhaps), or the thread makes the store persistent in a later operation.
//   N6  branch: a branch of the operation depends on words as in condition 1 that another thread
//       has stored, but the reply's bytes don't.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/allocations.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/flush_check.hpp"
#include "pmemsim/checks/rules/flushed_later.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/read_values.hpp"

namespace pmemsim::check {

class ReplyCheck {
 public:
  ReplyCheck(Findings& findings, FlushedLater& flushed_later, const Lines& lines,
             const FlushCheck& flushes, const Allocations& allocations, ReadValues& values,
             const HappensBefore& order, CoreId thread)
      : findings_(findings),
        flushed_later_(flushed_later),
        lines_(lines),
        flushes_(flushes),
        allocations_(allocations),
        values_(values),
        order_(order),
        thread_(thread) {}

  // Processes a store to PM outside of regions, after FlushCheck.
  void store_pm(const At& at, std::uint64_t address, std::uint64_t bytes);
  void branch(const At& at);
  // Processes a fence, after FlushCheck.
  void fence();
  // The end of a region makes its stores persistent.
  void region_end() { made_durable_ = true; }
  // Processes a request that fills these bytes.
  void request(std::uint64_t address, std::uint64_t bytes);
  // A reply, or a part of one.
  struct Part {
    std::uint64_t address, bytes;
    bool in_pm;
    bool to_file;
    bool last;
  };
  void reply(const At& at, const Part& part);
  // Call it when all threads have ended.
  void end() { give_up(); }

 private:
  // A store of the current operation, the last one to its line.
  struct OwnStore {
    At at{};
    Words words = 0;  // All words of the line that the operation has stored to
    std::uint32_t version = 0;
  };
  // An own store that is possibly lost when the reply is sent.
  struct Unpersisted {
    Line line;
    OwnStore store;
    std::uint32_t flushes;
    At reply;
    bool alone;  // Nothing that the operation has stored is persistent
  };

  void begin_operation();
  void give_up();
  void check_pm_data(const At& at, std::uint64_t address, std::uint64_t bytes, Reason reason);
  void check_values(const At& at, std::uint64_t address, std::uint64_t bytes, Reason reason);
  void check_data(const At& at, Line line, Words words, std::uint32_t version, Reason reason);
  void check_own_stores(const At& at);
  void check_branch(const At& at);
  bool is_reported(Line line) const;
  void report_later(const At& at, Reason reason, Line line, const At& store);

  Findings& findings_;
  FlushedLater& flushed_later_;
  const Lines& lines_;
  const FlushCheck& flushes_;
  const Allocations& allocations_;
  ReadValues& values_;
  const HappensBefore& order_;
  const CoreId thread_;
  LineTable<OwnStore> stores_;  // Of the current operation
  bool made_durable_ = false;   // The operation has ended a region
  bool replied_ = false;        // No store has followed the last reply
  std::vector<Unpersisted> unpersisted_;
  std::vector<Line> reported_;  // Lines whose data are in the current reply
  // The last load that a branch of the operation depends on.
  std::optional<ReadValues::Read> condition_;
};

}  // namespace pmemsim::check
