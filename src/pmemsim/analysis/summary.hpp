// The contents of a trace, counted in one pass: the numbers that `pmemsim trace info` prints.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

struct ThreadSummary {
  std::uint64_t operations = 0;
  std::array<std::uint64_t, kSiteKinds> by_kind{};
  std::uint64_t instructions = 0;           // instrumented instructions
  std::uint64_t external_instructions = 0;  // other instructions: estimates
  std::uint64_t unknown_instructions = 0;   // those of functions of unknown cost
  std::array<std::uint64_t, kPurposes> instructions_by_purpose{};  // sum of both kinds

  std::uint64_t pm_loads = 0, pm_stores = 0, dram_loads = 0, dram_stores = 0;
  std::uint64_t pm_bytes_written = 0;
  std::uint64_t pm_lines = 0;  // number of different lines, loaded or stored
  std::uint64_t flushes = 0, fences = 0;
  std::uint64_t locks = 0;  // mutexes and reader-writer locks acquired
  std::uint64_t different_locks = 0;
  std::uint64_t busiest_lock = 0;  // acquisitions of the lock that was acquired most often

  std::uint64_t regions = 0;              // outermost regions that have ended
  std::uint64_t region_instructions = 0;  // instructions in regions, for all purposes
  std::uint64_t region_program_instructions = 0;
  std::uint64_t region_lines = 0;  // PM lines in regions that the program's own stores wrote
  double lines_per_region() const { return per_region(region_lines); }
  double instructions_per_region() const { return per_region(region_instructions); }
  double program_instructions_per_region() const { return per_region(region_program_instructions); }

 private:
  double per_region(std::uint64_t count) const {
    return regions == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(regions);
  }
};

struct Summary {
  ThreadSummary total;  // pm_lines, locks: counted over all threads without duplicates
  std::vector<ThreadSummary> threads;
  std::uint64_t sites = 0;
  std::uint64_t image_pages = 0;
  std::uint64_t warm_lines = 0;
  std::uint64_t turns = 0;  // 0: turns were not recorded
  std::uint64_t races = 0;  // number of waits of racing accesses for another thread (races.hpp)
};

// Reads the whole trace. Throws TraceError.
Summary summarize(const TraceFile& file);

// Formats the summary as JSON: {"threads": [{...}], "total": {...}, "sites": ..., ...}.
std::string to_json(const Summary& summary);

}  // namespace pmemsim::trace
