// A core's translation lookaside buffers: two levels, for pages of one size, and walks of the page
// table. Each load and store is translated once, when its operands are ready, and waits for the
// result. Any number of walks can be in progress at a time, and each takes the same time. Locked
// instructions and flushes need no time for translation. The buffers are empty when the run begins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

struct TlbParameters {
  Bytes page_size{4096};
  std::uint32_t entries = 0;
  std::uint32_t ways = 4;
  std::uint32_t second_entries = 0;
  std::uint32_t second_ways = 4;
  Delay second_latency = cycles(7);
  Delay walk_latency = cycles(30);

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("page_size", page_size, {.least = 4096, .most = 1 << 30, .power_of_two = true},
          "Bytes that one entry translates");
    visit("entries", entries, {.least = 0, .most = 1 << 16},
          "Entries of a core's first TLB; 0: address translation takes no time");
    visit("ways", ways, {.least = 1, .most = 64}, "Associativity of the first TLB");
    visit("second_entries", second_entries, {.least = 0, .most = 1 << 16},
          "Entries of a core's second TLB; 0: the core has no second TLB");
    visit("second_ways", second_ways, {.least = 1, .most = 64}, "Associativity of the second TLB");
    visit("second_latency", second_latency, {.least = 0, .most = 1e9},
          "Latency of the second TLB, for hits and misses");
    visit("walk_latency", walk_latency, {.least = 0, .most = 1e9},
          "Latency of a page-table walk after a miss in all TLBs");
  }
};

class Tlb {
 public:
  Tlb(const Clock& clock, const TlbParameters& parameters)
      : page_bits_(std::countr_zero(parameters.page_size.count)),
        // An entry is a line of a CacheArray, whose capacity is in bytes.
        first_(parameters.entries * kLineBytes, parameters.ways),
        second_(parameters.second_entries * kLineBytes, parameters.second_ways),
        second_latency_(second_.present() ? clock.slots(parameters.second_latency) : 0),
        walk_latency_(clock.slots(parameters.walk_latency)) {}

  bool present() const { return first_.present(); }

  struct Translation {
    Slot wait = 0;
    bool in_first = true;
    bool walked = false;
  };
  // Translates all bytes from `address` on, which may be in two pages.
  Translation translate(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t page = address >> page_bits_;
    const std::uint64_t last = (address + bytes - 1) >> page_bits_;
    const Translation found = look_up({page});
    if (last == page) return found;
    const Translation also = look_up({last});
    return {std::max(found.wait, also.wait), found.in_first && also.in_first,
            found.walked || also.walked};
  }
  // Translates the bytes if the first TLB has their page. Returns false, without any effect, if it
  // hasn't or if they are in two pages.
  bool translate_in_first(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t page = address >> page_bits_;
    if ((address + bytes - 1) >> page_bits_ != page) return false;
    const std::size_t way = first_.find({page});
    if (way == kNoWay) return false;
    first_.touch(way);
    return true;
  }

 private:
  struct Nothing {};
  // A CacheArray whose lines represent pages.
  using Buffer = CacheArray<Nothing>;

  Translation look_up(Line page) {
    if (find_or_install(first_, page)) return {};
    const bool walked = !find_or_install(second_, page);
    return {second_latency_ + (walked ? walk_latency_ : 0), false, walked};
  }

  // True if the buffer holds the page; installs it otherwise.
  static bool find_or_install(Buffer& buffer, Line page) {
    if (!buffer.present()) return false;
    const std::size_t way = buffer.find(page);
    if (way != kNoWay) {
      buffer.touch(way);
      return true;
    }
    buffer.install(buffer.victim(page), page, {});
    return false;
  }

  int page_bits_;
  Buffer first_, second_;
  Slot second_latency_, walk_latency_;
};

}  // namespace pmemsim
