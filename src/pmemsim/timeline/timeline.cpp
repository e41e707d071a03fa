#include "pmemsim/timeline/timeline.hpp"

#include <algorithm>
#include <filesystem>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/host_memory.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "pmemsim/timeline/kanata_timeline.hpp"
#include "pmemsim/timeline/perfetto_timeline.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {
namespace {

std::string folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// Returns the regions with a rank, the slowest first, with their stalls.
std::vector<TimelineRegion> slowest_of(const std::vector<TimelineRegion>& regions,
                                       const StageLog& log) {
  std::vector<TimelineRegion> slowest;
  std::ranges::copy_if(regions, std::back_inserter(slowest),
                       [](const TimelineRegion& region) { return region.rank > 0; });
  std::ranges::sort(slowest, {}, &TimelineRegion::rank);
  if (slowest.empty()) return slowest;
  log.for_each([&](const StageEvent& event) {
    if (event.stage != Stage::kStall) return;
    for (TimelineRegion& region : slowest) {
      const Picoseconds part = min(event.at[1], region.end()) - max(event.at[0], region.begin);
      if (region.core == event.unit && part > Picoseconds{0}) region.stalls[event.detail] += part;
    }
  });
  return slowest;
}

}  // namespace

Timeline write_timeline(const trace::TraceFile& trace, const Configuration& configuration,
                        const TimelineBounds& bounds, TimelineFormat format,
                        const std::string& path, const std::function<bool(double)>& progress) {
  check_fit(trace, configuration);
  check_host_memory(trace, Machine::kCopies * configuration.run.instances);
  Machine machine(configuration, trace);
  machine.skip_sealing();
  StageLog log(machine.queue(), folder_of(path));
  machine.log_stages(&log);
  if (!machine.run(progress)) throw Interrupted("the simulation was interrupted");

  std::vector<TimelineRegion> regions = regions_of(log);
  const Intervals shown(bounds, regions);
  SourceNames sources(trace.sites());
  Timeline result{
      .time = machine.end().since_start(), .events = log.size(), .regions = regions.size()};
  if (format == TimelineFormat::kPerfetto) {
    PerfettoTimeline file(path, shown, sources,
                          machine.design().backend().parts().sub_operation_names());
    for (const TimelineRegion& region : regions) file.add(region);
    log.for_each([&](const StageEvent& event) { file.add(event); });
    file.close();
    result.slices = file.file().slices();
    result.values = file.file().values();
    result.tracks = file.file().tracks();
  } else {
    KanataTimeline rows(configuration.core.frequency, shown, sources);
    log.for_each([&](const StageEvent& event) { rows.add(event); });
    rows.write(path);
    result.rows = rows.rows();
    result.arrows = rows.arrows();
  }
  result.slowest = slowest_of(regions, log);
  return result;
}

}  // namespace pmemsim
