// One core's private caches: L1 and, where the machine has one, an L2 that includes it. Look-ups
// are inline, for every load and store passes here, and concern nobody else while they hit.
#pragma once

#include <cstdint>
#include <utility>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/common/clock.hpp"

namespace pmemsim {

// MESI, as the core sees its own copy.
enum class LineState : std::uint8_t { kShared, kExclusive, kModified };

struct PrivateLine {
  Slot ready = 0;  // when the data is (or was) there, in the core's slots
  LineState state = LineState::kShared;
  bool prefetched = false;  // and not used since
};

// A line that left the private caches.
struct Departure {
  bool happened = false;
  bool dirty = false;
  Line line;
};

class PrivateCaches {
 public:
  // One level: a hit adds `latency`, a miss `tag_latency`.
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

  // Whether the line is here, for somebody who doesn't use it.
  bool holds(Line line) const {
    return l1_.find(line) != kNoWay || (l2_.present() && l2_.find(line) != kNoWay);
  }
  // The line, which is in the L1, was asked for before anybody needed it.
  void mark_prefetched(Line line) { l1_.meta(l1_.find(line)).prefetched = true; }
  // Whether it is still waiting for its first use in the L1, which this is.
  bool first_use(Line line) {
    const std::size_t way = l1_.find(line);
    return way != kNoWay && std::exchange(l1_.meta(way).prefetched, false);
  }

  // Brings an L2 hit into L1 on the way.
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

  // The line must be here, exclusive or modified.
  void write(Line line) {
    const std::size_t way = l1_.find(line);
    if (way != kNoWay) l1_.meta(way).state = LineState::kModified;
  }

  // A line arrives from the shared cache; returns what it pushes out.
  Departure fill(Line line, LineState state, Slot ready);

  bool modified(Line line) const;

  // What the directory and flushes ask for. They return whether the copy was dirty.
  bool invalidate(Line line);
  bool downgrade(Line line);  // to shared
  bool clean(Line line);      // stays, exclusive

  Slot l1_latency() const { return l1_latency_; }
  // From the store queue through the private caches, for a flush or a request.
  Slot passing_latency() const { return l1_tag_latency_ + l2_tag_latency_; }

 private:
  Lookup look_up_l2(Line line, Slot start);
  void install_l1(Line line, const PrivateLine& meta);

  CacheArray<PrivateLine> l1_, l2_;
  Slot l1_latency_, l1_tag_latency_, l2_latency_, l2_tag_latency_;
};

}  // namespace pmemsim
