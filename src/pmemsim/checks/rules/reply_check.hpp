// Rule P14 of program_check.hpp: the replies of one thread to a socket, a pipe or a device. A reply
// is reported if one of these conditions holds:
//
//   1. Its bytes are words of PM that are possibly lost, or computed from such words, as in P9. The
//      thread itself has stored the words, or another thread has certainly stored them before.
//   2. A store of the thread is late (late_stores.hpp).
//
// Stores inside regions are not considered. A word whose line is never flushed again is a finding
// of P1 alone. Rules can't decide about some replies, which are notes:
//
//   N4  file: condition 1, but the bytes go to a file, a terminal, or the program's standard output
//       or error.
//   N5  own_store: a store of the thread's operation is possibly lost, but it is not late.
//   N6  branch: a branch since the last request or reply depends on words as in condition 1 that
//       another thread has stored, but the reply's bytes don't.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/flush_check.hpp"
#include "pmemsim/checks/rules/flushed_later.hpp"
#include "pmemsim/checks/rules/late_stores.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/read_values.hpp"

namespace pmemsim::check {

class ReplyCheck {
 public:
  ReplyCheck(FlushedLater& findings, const Lines& lines, const FlushCheck& flushes,
             ReadValues& values, LateStores::Shared& stores, const HappensBefore& order,
             CoreId thread)
      : findings_(findings),
        lines_(lines),
        flushes_(flushes),
        values_(values),
        stores_(stores, flushes),
        order_(order),
        thread_(thread) {}

  LateStores& stores() { return stores_; }
  void branch(const At& at);
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

 private:
  void check_pm_data(const At& at, std::uint64_t address, std::uint64_t bytes, Reason reason);
  void check_values(const At& at, std::uint64_t address, std::uint64_t bytes, Reason reason);
  void check_data(const At& at, Line line, Words words, std::uint32_t version, Reason reason);
  void check_branch(const At& at);
  bool is_reported(Line line) const;
  void report(const At& at, Reason reason, Line line, Words words);

  FlushedLater& findings_;
  const Lines& lines_;
  const FlushCheck& flushes_;
  ReadValues& values_;
  LateStores stores_;
  const HappensBefore& order_;
  const CoreId thread_;
  std::vector<Line> reported_;  // Lines whose data are in the current reply
  // The last load that a branch since the last request or reply depends on.
  std::optional<ReadValues::Read> condition_;
};

}  // namespace pmemsim::check
