// The calls that a layer requests to receive. The design reads these requests once, so that a call
// costs simulation time only if a layer uses it.
#pragma once

#include <cstdint>

namespace pmemsim {

enum Interest : std::uint32_t {
  kStores = 1u << 0,           // store()
  kLoads = 1u << 1,            // load()
  kEvictions = 1u << 2,        // evicted()
  kFetches = 1u << 3,          // fetch()
  kSynchronisation = 1u << 4,  // Ordering::synchronised()
  kRegions = 1u << 5,          // Atomicity::region_begin(), region_end(), fence_regions();
                               // Ordering::region_begin(), region_end()
  kAllStores = 1u << 6,        // Precompute::stored(), also for the program's stores to DRAM
  kHints = 1u << 7,            // Precompute::hint()
  kFlushes = 1u << 8,          // Atomicity::flush()
  kCleanEvictions = 1u << 9,   // Atomicity::evicted_clean()
  kVisibleStores = 1u << 10,   // Ordering::visible()
  kWriteBacks = 1u << 11,      // Precompute::written_back()
  kRewind = 1u << 12,          // Ordering::restored(), and threads that can be rolled back
  kReleases = 1u << 13,        // Ordering::release()
  kWrittenStores = 1u << 14,   // with kAllStores: when stores leave the store queue
};

// The calls that a layer, or any layer of a design, has requested.
class Interests {
 public:
  constexpr explicit Interests(std::uint32_t calls) : calls_(calls) {}
  // True if some of these calls are requested.
  constexpr bool include(std::uint32_t calls) const { return (calls_ & calls) != 0; }

 private:
  std::uint32_t calls_;
};

// The handling of a dirty PM line that the shared cache evicts.
enum class Eviction : std::uint8_t {
  kWrite,  // goes to the controller as a plain write
  kTaken,  // the layer handles it (drops it, delays it, keeps it elsewhere)
};

}  // namespace pmemsim
