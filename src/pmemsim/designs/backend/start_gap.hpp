// Start-Gap (Qureshi, Karidis, Franceschini, Srinivasan, Lastras, Abali: MICRO 2009): a region has
// one location more than it has lines. Two registers determine the location of each line.
//
//   1  The gap is the location that has no line. The other locations have the lines in their cyclic
//      order. Without the gap, line 0 would be at location `start`.
//   2  The gap moves by one location when the line before it moves into the gap. After as many
//      moves as there are locations, the gap has been at each of them, and every line has moved by
//      one location.
#pragma once

#include <cstdint>
#include <optional>

namespace pmemsim {

class StartGap {
 public:
  explicit StartGap(std::uint64_t lines) : StartGap(lines, 0, lines) {}
  // Restores the state from registers that survived a crash.
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
  // Returns the place of the line that moves into the gap next.
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
