// The tag array of a set-associative cache with LRU replacement. Lines are indexed by their
// location in memory. In the L1 the virtual address selects the set, because the L1 has no more
// sets than a page has lines. The owner defines what a line stores besides its tag (Meta).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/common/error.hpp"
#include "pmemsim/common/page_placement.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// The index of a line that is not in the cache.
inline constexpr std::size_t kNoWay = SIZE_MAX;

template <class Meta>
class CacheArray {
 public:
  CacheArray() = default;
  CacheArray(std::uint64_t bytes, std::uint32_t ways, PageFrames frames = {})
      : frames_(frames),
        ways_(ways),
        sets_(bytes / kLineBytes / ways),
        mask_((sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0),
        tags_(sets_ * ways, kEmpty),
        ways_found_(std::min(std::bit_ceil(tags_.size()), kMostWaysFound), 0),
        stamps_(sets_ * ways, 0),
        metas_(sets_ * ways) {}

  bool present() const { return sets_ > 0; }
  std::uint64_t sets() const { return sets_; }
  std::uint64_t bytes() const { return sets_ * ways_ * kLineBytes; }
  std::uint32_t ways() const { return ways_; }

  // Returns the way that holds the line (an index for meta(), touch() ...), or kNoWay.
  std::size_t find(Line line) const {
    std::uint32_t& found = ways_found_[line.number & (ways_found_.size() - 1)];
    if (tags_[found] == line.number) return found;
    const std::size_t first = set_of(line) * ways_;
    for (std::size_t way = first; way < first + ways_; ++way) {
      if (tags_[way] != line.number) continue;
      found = static_cast<std::uint32_t>(way);
      return way;
    }
    return kNoWay;
  }
  void touch(std::size_t way) { stamps_[way] = ++clock_; }

  // Returns the way for a new line of that set: an empty one, or the least recently used.
  std::size_t victim(Line line) const {
    const std::size_t first = set_of(line) * ways_;
    std::size_t oldest = first;
    for (std::size_t way = first; way < first + ways_; ++way) {
      if (tags_[way] == kEmpty) return way;
      if (stamps_[way] < stamps_[oldest]) oldest = way;
    }
    return oldest;
  }
  bool occupied(std::size_t way) const { return tags_[way] != kEmpty; }
  Line line(std::size_t way) const { return {tags_[way]}; }
  Meta& meta(std::size_t way) { return metas_[way]; }
  const Meta& meta(std::size_t way) const { return metas_[way]; }
  void install(std::size_t way, Line line, const Meta& meta) {
    tags_[way] = line.number;
    metas_[way] = meta;
    touch(way);
  }
  void remove(std::size_t way) { tags_[way] = kEmpty; }

 private:
  static constexpr std::uint64_t kEmpty = UINT64_MAX;
  static constexpr std::size_t kMostWaysFound = 1024;  // those of a large L1

  std::size_t set_of(Line line) const {
    const std::uint64_t number = frames_.frame_line(line).number;
    return mask_ != 0 || sets_ == 1 ? number & mask_ : number % sets_;
  }

  PageFrames frames_;
  std::uint32_t ways_ = 0;
  std::uint64_t sets_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<std::uint64_t> tags_;
  // The way in which a line with these last bits of its number was found last; the size is a power
  // of two. Most look-ups find their line there, without a search of the set.
  mutable std::vector<std::uint32_t> ways_found_;
  std::vector<std::uint64_t> stamps_;
  std::vector<Meta> metas_;
};

// Returns a message if no cache can have this geometry. The keys are the parameters that the
// message names.
inline std::string cache_geometry_problem(const std::string& size_key, std::uint64_t bytes,
                                          const std::string& ways_key, std::uint32_t ways) {
  if (bytes % (kLineBytes * ways) == 0) return {};
  return size_key + ": " + std::to_string(bytes) + " bytes can't be divided into " +
         std::to_string(ways) + " ways (" + ways_key + ") of 64-byte lines; choose a multiple of " +
         std::to_string(kLineBytes * ways);
}

}  // namespace pmemsim
