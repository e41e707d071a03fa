// A design's durability guarantees to a program. Each choice declares its part in its row of the
// table (designs/choices.hpp). The oracle, the command line and the contract tests read the
// guarantees there.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pmemsim {

// The stores that are persistent once a fence that makes durable is fulfilled.
enum class FencePromise : std::uint8_t {
  kNothing,
  kFlushed,  // the thread's earlier stores that it has flushed since (x86)
  kStores,   // all of the thread's earlier stores
};

// The time from which a crash can't lose an executed region any more.
enum class RegionPromise : std::uint8_t {
  kNone,          // never
  kAtEnd,         // when the region's end has left the store queue
  kWhenDeclared,  // when the design declares it (ProgramEvents::region_durable)
};

struct Promises {
  bool whole_regions = false;    // a crash leaves a region whole or not at all
  bool stores_in_order = false;  // a thread's stores persist in the order they become visible
  // A store persists after the stores of other threads that its thread has read before.
  bool reads_in_order = false;
  // A store is persistent when it becomes visible. The layer then determines the contents of
  // a crash image (Backend::persisted_in_caches()), instead of the queues and the device.
  bool caches_persist = false;
  // If a region flushes a line that it has written, the line persists with the region's commit and
  // no sooner. This includes stores to the line from before the region.
  bool commits_cover_flushes = false;
  FencePromise fences = FencePromise::kNothing;
  RegionPromise regions = RegionPromise::kNone;

  bool any() const {
    return whole_regions || stores_in_order || caches_persist || fences != FencePromise::kNothing;
  }

  bool operator==(const Promises&) const = default;
  // Returns the guarantees of two layers together.
  friend constexpr Promises operator|(const Promises& a, const Promises& b) {
    return {a.whole_regions || b.whole_regions,
            a.stores_in_order || b.stores_in_order,
            a.reads_in_order || b.reads_in_order,
            a.caches_persist || b.caches_persist,
            a.commits_cover_flushes || b.commits_cover_flushes,
            std::max(a.fences, b.fences),
            std::max(a.regions, b.regions)};
  }
};

}  // namespace pmemsim
