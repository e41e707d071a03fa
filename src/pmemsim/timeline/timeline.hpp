// A run with a timeline: simulates a recording, and writes what happened in time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/timeline/regions.hpp"

namespace pmemsim {

struct Configuration;
namespace trace {
class TraceFile;
}

enum class TimelineFormat : std::uint8_t { kPerfetto, kKanata };

struct Timeline {
  Picoseconds time{0};                               // time at which the last core ended
  std::uint64_t events = 0;                          // events in the log, shown or not
  std::uint64_t regions = 0;                         // regions of the run, shown or not
  std::uint64_t slices = 0, values = 0, tracks = 0;  // in a file for Perfetto
  std::uint64_t rows = 0, arrows = 0;                // in a Kanata log
  std::vector<TimelineRegion> slowest{};             // with their ranks, the slowest first
};

// Simulates the trace, and writes the part within the bounds to `path`. The events of the run are
// kept in a file without a name in the same folder. Throws what simulate() throws, and Error if
// nothing is within the bounds or the file can't be written. `progress` is as in simulate().
Timeline write_timeline(const trace::TraceFile& trace, const Configuration& configuration,
                        const TimelineBounds& bounds, TimelineFormat format,
                        const std::string& path, const std::function<bool(double)>& progress);

}  // namespace pmemsim
