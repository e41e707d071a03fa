// Computation in atomic regions, which `--compute-instructions` adds to a workload.
//
// A workload is compiled with this file before its source, and with the number of instructions in
// WORKLOAD_COMPUTE_INSTRUCTIONS. Each region then computes for that long as its first step, before
// it stores anything. A program without computation is compiled without this file, so that its
// recording is the same as ever.
#pragma once

#include <cstdint>

#include "pmemsim/pm.h"

namespace workload {

// Instructions of one iteration of compute_iterations(), as clang 19 compiles it.
constexpr std::uint64_t iteration_instructions(std::uint64_t steps) {
#ifdef __OPTIMIZE__
  return 9 * steps + 2;
#else
  return 18 * steps + 11;
#endif
}

// Advances a xorshift generator (Marsaglia, "Xorshift RNGs", 2003), whose instructions each need
// the one before them. They access no memory; without optimisation, the stack.
template <int kSteps>
std::uint64_t compute_iterations(std::uint64_t value, std::uint64_t iterations) {
#pragma clang loop unroll(disable) vectorize(disable)
  for (; iterations > 0; --iterations) {
#pragma clang loop unroll(full)
    for (int step = 0; step < kSteps; ++step) {
      value ^= value << 13;
      value ^= value >> 7;
      value ^= value << 17;
    }
    asm volatile("" : "+r"(value));  // keeps the loop, whose result nothing uses
  }
  return value;
}

// Executes about WORKLOAD_COMPUTE_INSTRUCTIONS instructions: long iterations, of which a recording
// has two records each, and short ones for the rest.
inline void compute() {
  constexpr std::uint64_t kAll = WORKLOAD_COMPUTE_INSTRUCTIONS;
  constexpr int kSteps = 16;
  constexpr std::uint64_t kLong = iteration_instructions(kSteps),
                          kShort = iteration_instructions(1);
  std::uint64_t value = compute_iterations<kSteps>(88172645463325252, kAll / kLong);
  compute_iterations<1>(value, (kAll % kLong + kShort / 2) / kShort);
}

}  // namespace workload

#define pm_begin(pool) (pm_begin(pool), workload::compute())
