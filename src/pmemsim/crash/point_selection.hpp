// The crash points that a run visits, by number in the order of their times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace pmemsim {

// The points to visit. Point 0 is the beginning: nothing has changed, but a durability guarantee
// may exist already.
class Selection {
 public:
  static Selection all() { return Selection({}, true); }
  // Takes the points in ascending order.
  explicit Selection(std::vector<std::uint64_t> points) : Selection(std::move(points), false) {}

  bool take(std::uint64_t point) {
    if (all_) return true;
    if (next_ == points_.size() || points_[next_] != point) return false;
    ++next_;
    return true;
  }

 private:
  Selection(std::vector<std::uint64_t> points, bool all) : points_(std::move(points)), all_(all) {}
  std::vector<std::uint64_t> points_;
  bool all_;
  std::size_t next_ = 0;
};

// Returns `count` of the points 1 to `last`, chosen at random.
inline std::vector<std::uint64_t> sample(std::uint64_t count, std::uint64_t last,
                                         std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> points;
  // Selection sampling (Knuth, The Art of Computer Programming, vol. 2, algorithm S).
  for (std::uint64_t point = 1; point <= last && points.size() < count; ++point) {
    if (random() % (last - point + 1) < count - points.size()) points.push_back(point);
  }
  return points;
}

// Returns `count` of the points 1 to `last`, evenly spaced.
inline std::vector<std::uint64_t> spread(std::uint64_t count, std::uint64_t last) {
  std::vector<std::uint64_t> points;
  count = std::min(count, last);
  for (std::uint64_t i = 1; i <= count; ++i) {
    points.push_back(static_cast<std::uint64_t>(static_cast<unsigned __int128>(last) * i / count));
  }
  return points;
}

// Selects the points of a part of a run: slices of consecutive numbers, which the parts take in
// turn. The run forgets earlier images at the begin of each slice, so that the results of a slice
// do not depend on the part that has checked the slice before it.
class Part {
 public:
  Part(std::uint32_t number, std::uint32_t parts) : number_(number), parts_(parts) {}

  static std::uint64_t slice_of(std::uint64_t point) { return point / kSlicePoints; }
  bool takes(std::uint64_t point) const { return slice_of(point) % parts_ == number_; }

 private:
  static constexpr std::uint64_t kSlicePoints = 2048;

  std::uint32_t number_, parts_;
};

}  // namespace pmemsim
