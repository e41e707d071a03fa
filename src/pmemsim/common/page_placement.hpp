// Where a program's pages lie in memory: what decides which banks, and which sets of the caches
// that are indexed by physical addresses, they share.
//
// Contiguous: at their virtual addresses, so that copies of a program have their pages in the same
// banks and sets. Random: each page of 4 KiB in a frame that has nothing to do with its address, as
// ChampSim places them (it draws a free frame for each page) and as an operating system ends up
// with. The draw is a fixed one-to-one mixing of the page's number, the copy's among it, so that
// two pages never share a frame and runs can be repeated. What a design keeps in memory itself, its
// logs among it, lies beyond all programs' addresses and stays contiguous.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

enum class PagePlacement : std::uint8_t { kContiguous, kRandom };
inline std::span<const std::string_view> choice_names(PagePlacement) {
  static constexpr std::string_view kNames[] = {"contiguous", "random"};
  return kNames;
}

struct PageParameters {
  PagePlacement placement = PagePlacement::kContiguous;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("placement", placement, {},
          "Where a program's pages of 4 KiB lie in memory, which decides what banks and sets of L2 "
          "and L3 they share: at their virtual addresses, so that copies share all, or at random");
  }
};

class PageFrames {
 public:
  // Of all copies of a program (run.instances) together.
  static constexpr unsigned kAddressBits = 53;

  constexpr PageFrames() = default;
  explicit constexpr PageFrames(PagePlacement placement)
      : random_(placement == PagePlacement::kRandom) {}

  // The line where it lies in memory.
  constexpr Line frame_line(Line line) const {
    if (!random_ || line.number >> (kAddressBits - kLineBits) != 0) return line;
    constexpr std::uint64_t kWithin = (std::uint64_t{1} << kLinesOfPageBits) - 1;
    return {mix(line.number >> kLinesOfPageBits) << kLinesOfPageBits | (line.number & kWithin)};
  }

 private:
  static constexpr unsigned kLineBits = 6, kLinesOfPageBits = 6;  // pages of 4 KiB
  static constexpr unsigned kPageBits = kAddressBits - kLineBits - kLinesOfPageBits;

  // One-to-one: multiplication with an odd number is, and so is folding the upper half down. Before
  // each the upper half holds what the whole number says; the factors are splitmix64's.
  static constexpr std::uint64_t mix(std::uint64_t page) {
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kPageBits) - 1;
    constexpr unsigned kHalf = kPageBits / 2 + 1;
    page ^= page >> kHalf;
    page = page * 0xbf58476d1ce4e5b9u & kMask;
    page ^= page >> kHalf;
    page = page * 0x94d049bb133111ebu & kMask;
    return page ^ page >> kHalf;
  }

  bool random_ = false;
};

}  // namespace pmemsim
