#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Ordering rules for acquiring and releasing a lock: x86 or ARM.
enum class LockBarrier : std::uint8_t { kX86, kArm };
inline std::span<const std::string_view> choice_names(LockBarrier) {
  static constexpr std::string_view kNames[] = {"x86", "arm"};
  return kNames;
}

struct CoreParameters {
  static constexpr std::uint32_t kMostCores = 64;

  std::uint32_t count = 8;
  Hertz frequency{2'000'000'000};
  std::uint32_t width = 4;
  std::uint32_t rob_entries = 192;
  std::uint32_t load_queue_entries = 72;
  std::uint32_t store_queue_entries = 56;
  std::uint32_t mshrs = 16;
  std::uint32_t write_combining_buffers = 10;
  Delay forward_latency = cycles(4);
  Delay locked_latency = cycles(18);
  Delay branch_penalty = cycles(14);
  std::uint32_t predictor_index_bits = 14;
  bool full_fences = false;
  bool clwb_evicts = false;
  LockBarrier lock_order = LockBarrier::kX86;
  bool loads_pass_locks = false;
  bool one_store_at_a_time = false;
  Delay time_slice = nanoseconds(0);
  Delay run_ahead = nanoseconds(200);

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("count", count, {.least = 1, .most = kMostCores}, "Cores of the machine");
    visit("frequency", frequency, {.least = 1e6, .most = 1e11}, "Clock of the cores");
    visit("width", width, {.least = 1, .most = 16}, "Instructions dispatched and retired a cycle");
    visit("rob_entries", rob_entries, {.least = 8, .most = 4096}, "Instructions in flight");
    visit("load_queue_entries", load_queue_entries, {.least = 1, .most = 1024},
          "Loads in flight, until they retire");
    visit("store_queue_entries", store_queue_entries, {.least = 2, .most = 1024},
          "Stores, flushes and fences in flight, until they have left for the caches");
    visit("mshrs", mshrs, {.least = 1, .most = 256},
          "Lines that a core's private caches wait for at a time");
    visit("write_combining_buffers", write_combining_buffers, {.least = 1, .most = 256},
          "Lines in which a core's non-temporal stores come together before they leave it");
    visit("forward_latency", forward_latency, {.least = 0, .most = 1e6},
          "From a store in the store queue to a load of the same bytes");
    visit("locked_latency", locked_latency, {.least = 0, .most = 1e6},
          "Execution of a locked instruction whose line is in the L1");
    visit("branch_penalty", branch_penalty, {.least = 0, .most = 1e6},
          "From the execution of a mispredicted branch to the dispatch of the right path");
    visit("predictor_index_bits", predictor_index_bits, {.least = 1, .most = 24},
          "The gshare predictor has two to the power of this many counters");
    visit("clwb_evicts", clwb_evicts, {},
          "Whether clwb throws its line out of the caches, as clflushopt does");
    visit("full_fences", full_fences, {},
          "Whether a store fence holds up all that follows it, as mfence and ARM's DSB do");
    visit(
        "lock_order", lock_order, {},
        "What locks wait for: on x86 taking and giving back are locked instructions, for which all "
        "earlier stores leave the core and which hold up all that follows; on ARM taking one holds "
        "up what follows but waits for no store, and giving back is a store-release, which becomes "
        "visible after the stores before it and holds up nothing");
    visit("loads_pass_locks", loads_pass_locks, {},
          "Whether loads behind a locked instruction or a lock are executed before it, as by "
          "processors that repeat them if their line has been taken away since, which isn't done "
          "here; not for designs that follow loads or take regions back");
    visit(
        "one_store_at_a_time", one_store_at_a_time, {},
        "Whether a store asks for its line and is written only when the store before it has been, "
        "as in gem5's model of x86");
    visit(
        "time_slice", time_slice, {.least = 0, .most = 1e12},
        "Time after which a thread leaves its core, until the design lets it come back; 0: never");
    visit("run_ahead", run_ahead, {.least = 1000, .most = 1e9},
          "How far a core may be simulated ahead of the others while it touches nothing shared");
  }
};

}  // namespace pmemsim
