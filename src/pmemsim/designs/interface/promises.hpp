// What a design promises to a program about crashes. Each choice declares its part in its row of
// the table (designs/choices.hpp); the oracle, the command line and the contract tests read it
// there.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pmemsim {

// What is persistent when a fence that makes durable has been fulfilled.
enum class FencePromise : std::uint8_t {
  kNothing,
  kFlushed,  // the thread's stores before it that it has flushed since (x86)
  kStores,   // all of the thread's stores before it
};

// When a region that has been executed can't be lost any more.
enum class RegionPromise : std::uint8_t {
  kNone,          // never
  kAtEnd,         // when its end has left the store queue
  kWhenDeclared,  // when the design says so (ProgramEvents::region_durable)
};

struct Promises {
  bool whole_regions = false;    // a crash leaves a region whole or not at all
  bool stores_in_order = false;  // a thread's stores persist in the order they become visible in
  // A store persists after the stores of other threads that its thread has read from before.
  bool reads_in_order = false;
  // A store is persistent when it has become visible. What a crash leaves is then what the layer
  // says (Backend::persisted_in_caches), not what the queues and the device hold.
  bool caches_persist = false;
  // What a region flushes itself, of lines that it has written, is persistent with its commit and
  // no sooner, stores before the region included.
  bool commits_cover_flushes = false;
  FencePromise fences = FencePromise::kNothing;
  RegionPromise regions = RegionPromise::kNone;

  bool any() const {
    return whole_regions || stores_in_order || caches_persist || fences != FencePromise::kNothing;
  }

  bool operator==(const Promises&) const = default;
  // What two layers promise together.
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
