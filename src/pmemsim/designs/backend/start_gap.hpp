// Start-Gap (Qureshi, Karidis, Franceschini, Srinivasan, Lastras, Abali: MICRO 2009): a region of
// lines has a place more than it has lines, and two registers say which line is where.
//
//   1  The gap is the place that no line is at; before it, and behind it, lines are in their order,
//      beginning with that whose place `start` would be 0 without a gap.
//   2  The gap moves by one place: the line before it goes there. It was everywhere after as many
//      moves as there are places, and every line is one further.
#pragma once

#include <cstdint>
#include <optional>

namespace pmemsim {

class StartGap {
 public:
  explicit StartGap(std::uint64_t lines) : StartGap(lines, 0, lines) {}
  // As registers say that survived.
  StartGap(std::uint64_t lines, std::uint64_t start, std::uint64_t gap)
      : lines_(lines), start_(start), gap_(gap) {}

  std::uint64_t place_of(std::uint64_t line) const {
    const std::uint64_t place = (line + start_) % lines_;
    return place < gap_ ? place : place + 1;
  }
  std::optional<std::uint64_t> line_at(std::uint64_t place) const {
    if (place == gap_) return {};
    return ((place < gap_ ? place : place - 1) + lines_ - start_) % lines_;
  }
  std::uint64_t start() const { return start_; }
  std::uint64_t gap() const { return gap_; }
  // Of the line that goes to the gap with its next move.
  std::uint64_t before_gap() const { return gap_ == 0 ? lines_ : gap_ - 1; }
  void move() {
    if (gap_ == 0) start_ = (start_ + 1) % lines_;
    gap_ = before_gap();
  }

 private:
  std::uint64_t lines_;
  std::uint64_t start_, gap_;
};

}  // namespace pmemsim
