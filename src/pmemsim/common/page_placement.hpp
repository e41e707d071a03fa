// Placement of a program's pages in memory. It decides which pages share banks, and which share
// sets of physically indexed caches.
//
// Contiguous placement puts pages at their virtual addresses, so that copies of a program have
// their pages in the same banks and sets. Random placement puts each 4 KiB page in a frame that is
// unrelated to its address. ChampSim places pages like this (it draws a free frame for each page),
// and operating systems end up with such a placement. The draw is a fixed one-to-one mixing of the
// page's number, which includes the number of the copy. Two pages therefore never share a frame,
// and runs can be repeated. Memory that a design uses itself, such as its logs, is beyond all
// programs' addresses and stays contiguous.
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
          "Physical location of a program's 4 KiB pages, which determines the banks and L2 and L3 "
          "sets that they share: at their virtual addresses, so copies share all of them, or "
          "random");
  }
};

class PageFrames {
 public:
  // Bits of an address, over all copies of a program (run.instances) together.
  static constexpr unsigned kAddressBits = 53;

  constexpr PageFrames() = default;
  explicit constexpr PageFrames(PagePlacement placement)
      : random_(placement == PagePlacement::kRandom) {}

  // Returns the physical line of a virtual line.
  constexpr Line frame_line(Line line) const {
    if (!random_ || line.number >> (kAddressBits - kLineBits) != 0) return line;
    constexpr std::uint64_t kWithin = (std::uint64_t{1} << kLinesOfPageBits) - 1;
    return {mix(line.number >> kLinesOfPageBits) << kLinesOfPageBits | (line.number & kWithin)};
  }

 private:
  static constexpr unsigned kLineBits = 6, kLinesOfPageBits = 6;  // pages of 4 KiB
  static constexpr unsigned kPageBits = kAddressBits - kLineBits - kLinesOfPageBits;

  // Mixes a page number one to one. Multiplication by an odd number is one to one, and so is
  // folding the upper half down. Before each fold the upper half depends on the whole number. The
  // factors are those of splitmix64.
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
