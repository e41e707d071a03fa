// The operations that stall behind a fence that makes durable until it is fulfilled: HOPS's dfence,
// PMEM-Spec's spec-barrier.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pmemsim {

enum class DurableFence : std::uint8_t {
  kStopsPmStores,    // stalls the next store to PM, and releases to other threads
  kStopsStoreQueue,  // stalls all that follows in the store queue: stores to DRAM, too
};

inline std::span<const std::string_view> choice_names(DurableFence) {
  static constexpr std::string_view kNames[] = {"pm-stores", "store-queue"};
  return kNames;
}

}  // namespace pmemsim
