// Condition 2 of rule P14 (reply_check.hpp): the stores of one thread that it makes persistent only
// after its reply.
//
// A thread's operation begins at a request, or at its first store to PM after a reply. A store of
// the operation is late if all of these hold:
//
//   - It is possibly lost at the first reply after it.
//   - No copy of it is persistent then: the operation has not also stored each of its words to
//     another line that is persistent, such as a line of a log.
//   - It is flushed but not fenced at the reply, or the thread itself makes it persistent after the
//     reply, before its next operation. No other execution of the same source line leaves that to a
//     later operation after the same reply: the program would not rely on it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "pmemsim/checks/rules/allocations.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/flush_check.hpp"
#include "pmemsim/checks/rules/flushed_later.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim::check {

class LateStores {
 public:
  // State shared by all threads.
  struct Shared {
    Findings& findings;
    FlushedLater& flushed_later;
    const Lines& lines;
    const Allocations& allocations;
    const Image& memory;
    // Stores that seem late, and the replies.
    std::vector<std::pair<At, At>> late{};
    // Source lines of stores that a later operation makes persistent, and of the replies.
    std::set<std::pair<Findings::Place, Findings::Place>> put_off{};
  };

  LateStores(Shared& shared, const FlushCheck& flushes) : shared_(shared), flushes_(flushes) {}

  // Processes a store to PM outside of regions, after FlushCheck.
  void store(const At& at, std::uint64_t address, std::uint64_t bytes);
  // Processes a fence, after FlushCheck.
  void fence();
  // The end of a region makes its stores persistent, perhaps a copy among them.
  void region_end() { has_region_ = true; }
  void request();
  // Processes a reply; the lines in `reported` have other findings.
  void reply(const At& at, std::span<const Line> reported);
  // Call it when all threads have ended.
  void end() { put_off(); }

  // Reports the findings when all threads have ended.
  static void finish(Shared& shared);

 private:
  // The last store of the operation to a line.
  struct Own {
    At at{};
    Words words = 0;  // All words of the line that the operation has stored to
    std::uint32_t version = 0;
  };
  // A store that is possibly lost when the reply is sent.
  struct Unpersisted {
    Line line;
    Own store;
    std::uint32_t flushes;
    At reply;
    bool copied;  // A copy of it may be persistent
  };

  void begin_operation();
  void put_off();
  bool is_persistent(Line line, const Own& store) const;
  std::vector<std::uint64_t> values_of(Line line, Words words) const;
  std::vector<std::uint64_t> persistent_values() const;

  Shared& shared_;
  const FlushCheck& flushes_;
  LineTable<Own> stores_;    // The current operation's stores
  bool has_region_ = false;  // The operation has ended a region
  bool replied_ = false;     // No store has followed the last reply
  std::vector<Unpersisted> unpersisted_;
};

}  // namespace pmemsim::check
