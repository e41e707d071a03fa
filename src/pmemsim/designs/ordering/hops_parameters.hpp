// The parameters of HOPS (ASPLOS 2017; PMEM-Spec, 8.1).
#pragma once

#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/designs/ordering/durable_fence.hpp"

namespace pmemsim {

// The effect of an ofence, besides ending its core's epoch.
enum class Ofence : std::uint8_t {
  kFlushes,    // begins to flush the buffer: PMEM-Spec, 8.1
  kEndsEpoch,  // no other effect: multifacet's model
};

inline std::span<const std::string_view> choice_names(Ofence) {
  static constexpr std::string_view kNames[] = {"flushes", "ends-epoch"};
  return kNames;
}

// Injected faults: each disables one protective mechanism.
struct HopsFaults {
  bool epochs = false;
  bool dependences = false;
  bool filter = false;
  bool dfence = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("epochs", epochs, "an epoch doesn't wait for the previous one");
    visit("dependences", dependences, "no epoch waits for an epoch of another core");
    visit("filter", filter, "reads of PM don't wait for stores to their line");
    visit("dfence", dfence, "dfences don't wait for the persist buffer");
  }
};

struct HopsParameters {
  std::uint32_t buffer_entries = 32;
  std::uint32_t flush_threshold = 16;
  Delay flush_interval = cycles(2000);
  Ofence ofence = Ofence::kFlushes;
  DurableFence dfence_stops = DurableFence::kStopsPmStores;
  Picoseconds path_latency{20'000};
  Picoseconds poll_interval{500'000};
  Bytes filter_size{1024};
  Delay filter_latency = cycles(2);
  Delay sticky_latency = cycles(1);
  HopsFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("buffer_entries", buffer_entries, {.least = 1, .most = 4096},
          "Entries of a core's persist buffer (lines with stores that are not persistent yet)");
    visit("flush_threshold", flush_threshold, {.least = 1, .most = 4096},
          "Number of entries at which a persist buffer begins to drain");
    visit("flush_interval", flush_interval, {.least = 1, .most = 1e12},
          "Time after which a persist buffer begins to drain, even with fewer entries");
    visit("ofence", ofence, {},
          "Whether an ofence also starts to drain the persist buffer, or only ends an epoch");
    visit("dfence_stops", dfence_stops, {},
          "What a dfence stalls: stores to PM and synchronisation with other threads, or all later "
          "entries of the store queue");
    visit("path_latency", path_latency, {.least = 1, .most = 1e9},
          "Latency from a core's persist buffer to the PM controllers");
    visit(
        "poll_interval", poll_interval, {.least = 1, .most = 1e12},
        "Interval at which a core that waits for another core's epoch polls the persisted epochs");
    visit("filter_size", filter_size, {.least = 1, .most = 1 << 30},
          "Size of the PM controllers' Bloom filter of lines in persist buffers");
    visit("filter_latency", filter_latency, {.most = 1e6},
          "Time that every read of PM spends in the Bloom filter");
    visit("sticky_latency", sticky_latency, {.most = 1e6},
          "Additional latency of every line from the shared cache to a core, for its sticky bit");
  }
};

}  // namespace pmemsim
