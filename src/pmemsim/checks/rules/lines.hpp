// What is known of each line of persistent memory while a recording is gone through.
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim::check {

// A line's words of eight bytes, a bit each.
using Words = std::uint8_t;

// Those of a range that stands in one line.
constexpr Words words_of(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t first = address % kLineBytes / kWordBytes;
  const std::uint64_t last = (address % kLineBytes + bytes - 1) / kWordBytes;
  return static_cast<Words>((2u << last) - (1u << first));
}

// A flush has ended once its thread has passed a fence.
struct LineState {
  static constexpr std::uint32_t kStores = 3;

  bool known = false;    // stored to or flushed
  bool racy = false;     // by threads without an order among them
  bool flushed = false;  // ever
  bool pending = false;  // the last flush hasn't ended
  bool told = false;     // of the stores since the last flush
  bool pointed = false;  // a pointer to it has been stored in PM
  Words dirty = 0;       // stored to since the last flush
  Words unsure = 0;      // ... since the last flush that has ended
  Words persisted = 0;   // covered by a flush that has ended, ever
  Words ended = 0;       // ... by the last one
  Words run = 0;         // stored to by the last store's thread, since another has

  std::uint32_t version = 0;  // counts stores
  std::uint32_t flushes = 0;
  At store{};  // the last one, whoever's
  HappensBefore::Epoch stored = 0;
  At flush{};  // the last one
  // When it has ended.
  CoreId fence_thread = 0;
  HappensBefore::Epoch fence = 0;

  // Stores of the program's own since the last flush, a few of those at different places.
  std::array<At, kStores> stores{};
  std::uint32_t store_count = 0;
  bool late = false;  // the last flush's thread has stored to it before the fence
  At late_store{};    // the first time
};

using Lines = LineTable<LineState>;

// Will what this thread has seen of the words persist, as far as it can know?
inline bool sure(const LineState& line, Words words, const HappensBefore& order, CoreId thread) {
  if ((line.unsure & words) != 0) return false;
  if ((line.ended & words) == 0 || line.fence_thread == thread) return true;
  return order.before(line.fence_thread, line.fence, thread);
}

}  // namespace pmemsim::check
