// A machine in round numbers, for runs that are compared with closed forms.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "run_trace.hpp"

namespace pmemsim {

// 1 GHz, so that a cycle is a nanosecond; PM without row buffers or controller latencies to think
// of.
inline std::vector<Setting> round_machine(const std::vector<KeyValue>& more = {}) {
  return settings({{"core.frequency", "1GHz"},
                   {"core.width", "4"},
                   {"core.rob_entries", "64"},
                   {"core.load_queue_entries", "32"},
                   {"core.store_queue_entries", "16"},
                   {"core.mshrs", "8"},
                   {"core.forward_latency", "4cycles"},
                   {"core.locked_latency", "18cycles"},
                   {"l1.size", "32KiB"},
                   {"l1.ways", "8"},
                   {"l1.latency", "4cycles"},
                   {"l1.tag_latency", "2cycles"},
                   {"l2.size", "256KiB"},
                   {"l2.ways", "8"},
                   {"l2.latency", "10cycles"},
                   {"l2.tag_latency", "5cycles"},
                   {"shared.size", "1MiB"},
                   {"shared.size_per_core", "0B"},
                   {"shared.latency", "30cycles"},
                   {"shared.tag_latency", "20cycles"},
                   {"shared.snoop_latency", "18cycles"},
                   {"pm.device", "fixed"},
                   {"pm.read_latency", "200ns"},
                   {"pm.write_latency", "100ns"},
                   {"pm.front_latency", "0ns"},
                   {"pm.back_latency", "0ns"},
                   {"pm.trefi", "0ps"}},
                  more);
}
// Its latencies in nanoseconds.
inline constexpr double kL1 = 4, kL2 = 10, kShared = 30, kPmRead = 200 + 3.332;
inline constexpr double kL1Tags = 2, kL2Tags = 5, kSharedTags = 20;
// Latency that misses and flushes take on their way to memory.
inline constexpr double kWayDown = kL1Tags + kL2Tags + kSharedTags;
// Addresses so far apart lie in different pages, banks and sets.
inline constexpr std::uint64_t kOtherBank = 4096 + 64;

inline void expect_near(double measured, double formula) {
  constexpr double kTolerance = 0.05;
  EXPECT_NEAR(measured, formula, kTolerance * formula);
}

// The time of one of `build`'s rounds, start and end left out: what the second half of a run of
// twice as many rounds adds.
inline double steady_ns(const std::function<void(trace::TraceBuilder&, int rounds)>& build,
                        int rounds, const std::vector<Setting>& settings) {
  const auto time = [&](int count) {
    trace::TraceBuilder builder;
    builder.pm_region(kPmBase, kPmBase + (1u << 30));
    build(builder, count);
    return nanoseconds(run_trace(builder, settings));
  };
  return (time(2 * rounds) - time(rounds)) / rounds;
}

}  // namespace pmemsim
