// One run from end to end: a configuration and a trace in, statistics out.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct Configuration;
namespace trace {
class TraceFile;
}

struct RunResult {
  std::uint64_t instructions = 0;  // simulated, on all cores
  std::uint64_t regions = 0;       // outermost atomic regions completed
  std::uint64_t pm_write_bytes = 0;
  Picoseconds time{0};        // until the last core was done
  std::uint32_t threads = 0;  // cores used
  double wall_s = 0;          // of the host, for the simulation itself
  std::vector<Statistic> statistics;
  std::size_t relations = 0;  // between statistics, which have been checked
};

// Throws ConfigError, with the places of its settings, if the trace doesn't fit the machine.
void check_fit(const trace::TraceFile& trace, const Configuration& configuration);

// `progress` gets the share done, now and then; the run ends with Interrupted if it returns false.
// `images`, if there are any, are the files that get what programs would read of each PM region of
// the trace when power is lost after the run; of the first instance.
// `contents` are the trace's, loaded for several simulations; else this one loads them.
// Throws ConfigError, trace::TraceError, StuckError, Error.
RunResult simulate(const trace::TraceFile& trace, const Configuration& configuration,
                   const std::function<bool(double)>& progress,
                   std::span<const std::string> images = {},
                   const std::shared_ptr<const Image::Pages>& contents = nullptr);

}  // namespace pmemsim
