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

// Instructions of one iteration of the outer loop below, as clang 19 compiles it.
#ifdef __OPTIMIZE__
inline constexpr std::uint64_t kIterationInstructions = 38;
#else
inline constexpr std::uint64_t kIterationInstructions = 83;
#endif
inline constexpr std::uint64_t kIterations =
    (WORKLOAD_COMPUTE_INSTRUCTIONS + kIterationInstructions / 2) / kIterationInstructions;

// Executes about WORKLOAD_COMPUTE_INSTRUCTIONS instructions of a xorshift generator (Marsaglia,
// "Xorshift RNGs", 2003), each of which needs the one before it. Only without optimisation they
// access memory, which is the stack.
inline void compute() {
  std::uint64_t value = 88172645463325252;
#pragma clang loop unroll(disable) vectorize(disable)
  for (std::uint64_t left = kIterations; left > 0; --left) {
#pragma clang loop unroll(full)
    for (int step = 0; step < 4; ++step) {
      value ^= value << 13;
      value ^= value >> 7;
      value ^= value << 17;
    }
    asm volatile("" : "+r"(value));  // keeps the loop, whose result nothing uses
  }
}

}  // namespace workload

#define pm_begin(pool) (pm_begin(pool), workload::compute())
