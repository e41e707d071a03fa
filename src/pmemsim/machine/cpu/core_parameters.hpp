#pragma once

#include <algorithm>
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

// Fault injection: an error in the account of the cores' time.
struct CoreFaults {
  bool fence_waits = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("fence_waits", fence_waits, "the waits of fences count as time of the store queue");
  }
};

struct CoreParameters {
  static constexpr std::uint32_t kMostCores = 64;

  std::uint32_t count = 8;
  std::uint32_t threads_per_core = 1;
  Hertz frequency{2'000'000'000};
  std::uint32_t width = 4;
  std::uint32_t rob_entries = 192;
  std::uint32_t load_queue_entries = 72;
  std::uint32_t store_queue_entries = 56;
  std::uint32_t mshrs = 16;
  std::uint32_t flush_registers = 0;
  Delay flush_interval = nanoseconds(0);
  std::uint32_t write_combining_buffers = 10;
  Delay forward_latency = cycles(4);
  Delay locked_latency = cycles(18);
  Delay division_latency = cycles(26);
  Delay branch_penalty = cycles(14);
  std::uint32_t predictor_index_bits = 14;
  std::uint32_t target_index_bits = 9;
  std::uint32_t return_stack_entries = 16;
  bool full_fences = false;
  bool clwb_evicts = false;
  LockBarrier lock_order = LockBarrier::kX86;
  bool loads_pass_locks = false;
  bool one_store_at_a_time = false;
  bool one_access_at_a_time = false;
  Delay load_retry_latency = cycles(0);
  Delay time_slice = nanoseconds(0);
  Delay run_ahead = nanoseconds(200);
  CoreFaults faults;

  std::uint32_t most_flushes() const { return flush_registers > 0 ? flush_registers : mshrs; }
  // Returns the parameters of a logical processor whose physical core runs `threads` threads.
  CoreParameters shared_by(std::uint32_t threads) const {
    const auto part = [threads](std::uint32_t entries) { return std::max(entries / threads, 1u); };
    CoreParameters own = *this;
    own.mshrs = part(mshrs);
    own.flush_registers = part(most_flushes());
    own.flush_interval.count *= threads;
    own.write_combining_buffers = part(write_combining_buffers);
    return own;
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("count", count, {.least = 1, .most = kMostCores}, "Number of cores of the machine");
    visit(
        "threads_per_core", threads_per_core, {.least = 1, .most = 8},
        "Cores of this machine that are logical processors of one physical core. If a run has "
        "several threads, this number of them share its mshrs, flush_registers, flush_interval and "
        "write_combining_buffers in equal parts");
    visit("frequency", frequency, {.least = 1e6, .most = 1e11}, "Clock frequency of the cores");
    visit("width", width, {.least = 1, .most = 16},
          "Instructions dispatched and retired per cycle");
    visit("rob_entries", rob_entries, {.least = 8, .most = 4096},
          "Entries of the reorder buffer (instructions in flight)");
    visit("load_queue_entries", load_queue_entries, {.least = 1, .most = 1024},
          "Entries of the load queue (loads in flight until they retire)");
    visit(
        "store_queue_entries", store_queue_entries, {.least = 2, .most = 1024},
        "Entries of the store queue (stores, flushes and fences until they leave for the caches)");
    visit("mshrs", mshrs, {.least = 1, .most = 256},
          "Largest number of outstanding misses (lines) of a core's private caches");
    visit("flush_registers", flush_registers, {.least = 0, .most = 4096},
          "Largest number of a core's flushes that are not acknowledged; 0: as core.mshrs");
    visit("flush_interval", flush_interval, {.least = 0, .most = 1e9},
          "Least time between two flushes that a core sends");
    visit("write_combining_buffers", write_combining_buffers, {.least = 1, .most = 256},
          "Write-combining buffers of a core (lines), which coalesce non-temporal stores");
    visit("forward_latency", forward_latency, {.least = 0, .most = 1e6},
          "Latency of forwarding from the store queue to a load of the same bytes");
    visit("locked_latency", locked_latency, {.least = 0, .most = 1e6},
          "Latency of a locked instruction whose line is in the L1");
    visit("division_latency", division_latency, {.least = 0, .most = 1e6},
          "Latency of an integer division of 32 bits; wider ones take as much longer as Skylake's");
    visit(
        "branch_penalty", branch_penalty, {.least = 0, .most = 1e6},
        "Latency from the execution of a mispredicted branch to the dispatch of the correct path");
    visit("predictor_index_bits", predictor_index_bits, {.least = 1, .most = 24},
          "Size of the gshare predictor: 2 to the power of this value counters");
    visit(
        "target_index_bits", target_index_bits, {.least = 1, .most = 20},
        "Size of the three tables that predict targets of indirect branches by the branch and the "
        "history: 2 to the power of this value targets each. The table by the branch alone has "
        "eight times as many");
    visit("return_stack_entries", return_stack_entries, {.least = 1, .most = 1024},
          "Entries of the return-address stack, which predicts returns");
    visit("clwb_evicts", clwb_evicts, {},
          "Whether clwb evicts its line from the caches, as clflushopt does");
    visit("full_fences", full_fences, {},
          "Whether a store fence stalls all later instructions, as mfence and ARM's DSB do. HOPS's "
          "ofence and dfence and PMEM-Spec's spec-barrier, which replace store fences, never do");
    visit(
        "lock_order", lock_order, {},
        "Ordering by locks. x86: acquiring and releasing are locked instructions, which wait for "
        "all earlier stores and stall all later instructions. arm: acquiring stalls later "
        "instructions but waits for no store; releasing is a store-release, which becomes visible "
        "after earlier stores and stalls nothing");
    visit("loads_pass_locks", loads_pass_locks, {},
          "Whether loads execute before an earlier locked instruction or lock. The model does not "
          "repeat loads whose line was invalidated meanwhile. In designs that track loads or "
          "re-execute regions, loads always wait");
    visit("one_store_at_a_time", one_store_at_a_time, {},
          "Whether a store requests its line only after the previous store was written, as in "
          "gem5's model of x86");
    visit(
        "one_access_at_a_time", one_access_at_a_time, {},
        "Whether a load that is not forwarded, a store or a flush is sent only after the response "
        "of the core's previous one, as in PMWeaver's artifact. Flushes then do not overlap");
    visit("load_retry_latency", load_retry_latency, {.least = 0, .most = 1e6},
          "With core.one_access_at_a_time: latency from a response until a load that waited for it "
          "is sent");
    visit("time_slice", time_slice, {.least = 0, .most = 1e12},
          "Time after which a thread is descheduled until the design lets it continue; 0: never");
    visit("run_ahead", run_ahead, {.least = 1000, .most = 1e9},
          "Largest simulated time that a core may be ahead of others while it accesses nothing "
          "shared");
  }
};

}  // namespace pmemsim
