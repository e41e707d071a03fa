// A complete run: takes a configuration and a trace, returns statistics.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/latencies.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct Configuration;
class Machine;
namespace trace {
class TraceFile;
}

struct RunResult {
  std::uint64_t instructions = 0;  // instructions simulated on all cores
  std::uint64_t regions = 0;       // outermost atomic regions completed
  std::uint64_t pm_write_bytes = 0;
  Picoseconds time{0};        // time at which the last core ended
  std::uint32_t threads = 0;  // number of cores used
  double wall_s = 0;          // host time of the simulation itself, in seconds
  std::vector<Statistic> statistics;
  std::vector<std::vector<Statistic>> stalls;  // a list for each core
  std::vector<Latencies::Bucket> region_latencies, commit_latencies;
  std::size_t relations = 0;  // number of checked relations between statistics
};

// Throws ConfigError, with the locations of the settings, if the trace doesn't fit the machine.
void check_fit(const trace::TraceFile& trace, const Configuration& configuration);

// Simulates the trace. Throws ConfigError, trace::TraceError, StuckError, Error.
// - `progress` is called now and then with the share done; if it returns false, Interrupted is
//   thrown.
// - `images`, if not empty, has one file for each PM region of the trace. The file receives the
//   region's contents that programs would read if power failed after the run (first instance).
// - `contents` are the trace's initial contents, shared by several simulations; they are loaded if
//   none are given.
RunResult simulate(const trace::TraceFile& trace, const Configuration& configuration,
                   const std::function<bool(double)>& progress,
                   std::span<const std::string> images = {},
                   const std::shared_ptr<const Image::Pages>& contents = nullptr);

// Returns the results of a machine's run, which took this host time in seconds.
RunResult result_of(const Machine& machine, double wall_s);

}  // namespace pmemsim
