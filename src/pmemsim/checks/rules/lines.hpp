// The check's state of each line of persistent memory.
#pragma once

#include <cstdint>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/store_list.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim::check {

// Smaller words are numbers, not addresses.
inline constexpr std::uint64_t kLowestPointer = std::uint64_t{1} << 32;

// Returns the words of a range that lies in one line.
constexpr Words words_of(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t first = address % kLineBytes / kWordBytes;
  const std::uint64_t last = (address % kLineBytes + bytes - 1) / kWordBytes;
  return static_cast<Words>((2u << last) - (1u << first));
}

// The state of a line. A flush has ended once its thread has executed a fence.
struct LineState {
  bool known = false;       // Stored to or flushed
  bool racy = false;        // Threads race on the line
  bool flushed = false;     // Flushed at any time
  bool pending = false;     // The last flush has not ended
  bool pointed = false;     // A pointer to the line has been stored in PM
  Words dirty = 0;          // Words stored to since the last flush
  Words possibly_lost = 0;  // Words stored to since the last flush that has ended
  Words persisted = 0;      // Words covered by any flush that has ended
  Words ended = 0;          // Words covered by the last flush that has ended
  Words run = 0;  // Words stored to by the last store's thread, since another thread's store

  std::uint32_t version = 0;  // Number of stores
  std::uint32_t flushes = 0;
  At store{};  // Last store, of any thread
  HappensBefore::Epoch stored = 0;
  At flush{};  // Last flush
  // The fence that ended the last flush.
  CoreId fence_thread = 0;
  HappensBefore::Epoch fence = 0;
  std::uint64_t fence_operation = 0;  // Its number in the thread

  // The program's own stores since the last flush that are in neither `late` nor `tags`.
  StoreList stores{};
  // Stores by the last flush's thread between that flush and its fence.
  StoreList late{};
  // Stores that clear tag bits of persistent pointers, since the last flush.
  StoreList tags{};
  // Words that are sequence words (rule P1), and words that are not.
  Words sequence = 0, no_sequence = 0;
  // Words whose last store has a redo copy (redo_copies.hpp): with an address, or with an index.
  Words redo_copied = 0, redo_indexed = 0;

  bool is_sequence(Words words) const { return (words & ~(sequence & ~no_sequence)) == 0; }
  // Forgets stores that nothing has flushed: these words were freed since.
  void forget_stores(Words words) {
    dirty &= static_cast<Words>(~words);
    for (StoreList* const list : {&stores, &late, &tags}) list->forget(words);
  }
  void clear_stores() {
    stores.clear();
    late.clear();
    tags.clear();
  }
};

using Lines = LineTable<LineState>;

// True if this thread can detect that the contents of the words are guaranteed persistent.
inline bool is_guaranteed(const LineState& line, Words words, const HappensBefore& order,
                          CoreId thread) {
  if ((line.possibly_lost & words) != 0) return false;
  if ((line.ended & words) == 0 || line.fence_thread == thread) return true;
  return order.before(line.fence_thread, line.fence, thread);
}

}  // namespace pmemsim::check
