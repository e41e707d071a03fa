// One core's private caches: L1 and, where the machine has one, an inclusive L2. Look-ups are
// inline because every load and store executes them. Hits involve no other component.
#pragma once

#include <cstdint>
#include <utility>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/common/clock.hpp"

namespace pmemsim {

// MESI state of the core's own copy.
enum class LineState : std::uint8_t { kShared, kExclusive, kModified };

struct PrivateLine {
  Slot ready = 0;  // when the data are available, in the core's slots
  LineState state = LineState::kShared;
  bool prefetched = false;  // prefetched and not used since
};

// A line that left the private caches.
struct Departure {
  bool happened = false;
  bool dirty = false;
  Line line;
};

class PrivateCaches {
 public:
  // One cache level. A hit adds `latency`, a miss `tag_latency`.
  struct Level {
    std::uint64_t bytes;
    std::uint32_t ways;
    Slot latency, tag_latency;
    PageFrames frames = {};
  };

  PrivateCaches(const Level& l1, const Level& l2)
      : l1_(l1.bytes, l1.ways, l1.frames),
        l2_(l2.bytes, l2.ways, l2.frames),
        l1_latency_(l1.latency),
        l1_tag_latency_(l1.tag_latency),
        l2_latency_(l2.latency),
        l2_tag_latency_(l2.bytes > 0 ? l2.tag_latency : 0) {}

  struct Lookup {
    bool hit = false;
    bool in_l1 = false;
    LineState state = LineState::kShared;
    Slot done = 0;   // hit: when the core has the data; miss: when the request leaves the core
    Slot ready = 0;  // hit: when the line is in the L1
  };

  // True if the line is in the private caches. Does not count as a use.
  bool holds(Line line) const {
    return l1_.find(line) != kNoWay || (l2_.present() && l2_.find(line) != kNoWay);
  }
  // Marks the line, which is in the L1, as prefetched before any access.
  void mark_prefetched(Line line) { l1_.meta(l1_.find(line)).prefetched = true; }
  // True if this is the first use of a prefetched line in the L1.
  bool first_use(Line line) {
    const std::size_t way = l1_.find(line);
    return way != kNoWay && std::exchange(l1_.meta(way).prefetched, false);
  }

  // Looks the line up. An L2 hit is also installed in the L1.
  Lookup look_up(Line line, Slot start) {
    const std::size_t way = l1_.find(line);
    if (way != kNoWay) {
      l1_.touch(way);
      const PrivateLine& found = l1_.meta(way);
      const Slot done = start + l1_latency_;
      return {true, true, found.state, done > found.ready ? done : found.ready, found.ready};
    }
    return look_up_l2(line, start);
  }

  // Returns the L1's way for read_l1(), without counting as a use. Returns kNoWay if the bytes are
  // in two lines or not in the L1, or if an access to them trains the prefetcher.
  std::size_t find_in_l1(std::uint64_t address, std::uint32_t size) const {
    if (address % kLineBytes + size > kLineBytes) return kNoWay;
    const std::size_t way = l1_.find(Line::of(address));
    return way == kNoWay || l1_.meta(way).prefetched ? kNoWay : way;
  }
  // Reads the line in this way like look_up(), and returns when the core has the data.
  Slot read_l1(std::size_t way, Slot start) {
    l1_.touch(way);
    return std::max(start + l1_latency_, l1_.meta(way).ready);
  }

  // True if the L1 has the line in a writable state, and an access to it doesn't train the
  // prefetcher. Counts as a use then.
  bool ready_for_write(Line line) {
    const std::size_t way = l1_.find(line);
    if (way == kNoWay || l1_.meta(way).state == LineState::kShared || l1_.meta(way).prefetched) {
      return false;
    }
    l1_.touch(way);
    return true;
  }
  // Writes to the line if the L1 has it in a writable state. Returns since when it has been there,
  // or kUnknownSlot if it isn't.
  Slot write_in_l1(Line line) {
    const std::size_t way = l1_.find(line);
    if (way == kNoWay || l1_.meta(way).state == LineState::kShared) return kUnknownSlot;
    return write_way(way);
  }
  // Does the same, but not if the access trains the prefetcher.
  Slot write_in_l1_untrained(Line line) {
    const std::size_t way = l1_.find(line);
    if (way == kNoWay || l1_.meta(way).state == LineState::kShared || l1_.meta(way).prefetched) {
      return kUnknownSlot;
    }
    return write_way(way);
  }

  // Writes to the line, which must be in the private caches, exclusive or modified.
  void write(Line line) {
    const std::size_t way = l1_.find(line);
    if (way != kNoWay) l1_.meta(way).state = LineState::kModified;
  }

  // Installs a line from the shared cache; returns the line that it evicts.
  Departure fill(Line line, LineState state, Slot ready);

  bool modified(Line line) const;

  // Requests of the directory and of flushes. They return true if the copy was dirty.
  bool invalidate(Line line);
  bool downgrade(Line line);   // the copy becomes shared
  bool mark_clean(Line line);  // the copy stays and becomes exclusive

  Slot l1_latency() const { return l1_latency_; }
  // Time of a flush or a request from the store queue through the private caches.
  Slot passing_latency() const { return l1_tag_latency_ + l2_tag_latency_; }

 private:
  Slot write_way(std::size_t way) {
    l1_.touch(way);
    l1_.meta(way).state = LineState::kModified;
    return l1_.meta(way).ready;
  }
  Lookup look_up_l2(Line line, Slot start);
  void install_l1(Line line, const PrivateLine& meta);

  CacheArray<PrivateLine> l1_, l2_;
  Slot l1_latency_, l1_tag_latency_, l2_latency_, l2_tag_latency_;
};

}  // namespace pmemsim
