// Runs with a timeline, in pmemsim._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/timeline/timeline.hpp"
#include "pmemsim/trace/reader.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// A region of the timeline in the form that Python receives.
struct SlowRegion {
  std::uint32_t rank = 0, thread = 0;
  std::uint64_t number = 0;
  Time begin{}, retired{}, end{};
  std::uint32_t executions = 0;
  bool durable = false;
  std::vector<std::string> causes;
  std::vector<Picoseconds> stalls;
};

struct WrittenTimeline {
  Picoseconds time{};
  std::uint64_t events = 0, regions = 0, slices = 0, values = 0, tracks = 0, rows = 0, arrows = 0;
  std::vector<SlowRegion> slowest;
};

SlowRegion to_python(const TimelineRegion& region) {
  SlowRegion found{.rank = region.rank,
                   .thread = region.core,
                   .number = region.number,
                   .begin = region.begin,
                   .retired = region.retired,
                   .end = region.end(),
                   .executions = region.executions,
                   .durable = region.durable != kNever,
                   .causes = {},
                   .stalls = {}};
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    if (region.stalls[cause] == Picoseconds{0}) continue;
    found.causes.emplace_back(kCauseTexts[cause].name);
    found.stalls.push_back(region.stalls[cause]);
  }
  return found;
}

WrittenTimeline write(const trace::TraceFile& trace, const Configuration& configuration,
                      const TimelineBounds& bounds, bool kanata, const Path& path,
                      const Progress& progress) {
  const nb::gil_scoped_release release;
  const HandlerStack room;
  const TimelineFormat format = kanata ? TimelineFormat::kKanata : TimelineFormat::kPerfetto;
  const Timeline timeline = write_timeline(trace, configuration, bounds, format, path.string(),
                                           [&](double share) { return report(progress, share); });
  WrittenTimeline written{.time = timeline.time,
                          .events = timeline.events,
                          .regions = timeline.regions,
                          .slices = timeline.slices,
                          .values = timeline.values,
                          .tracks = timeline.tracks,
                          .rows = timeline.rows,
                          .arrows = timeline.arrows,
                          .slowest = {}};
  for (const TimelineRegion& region : timeline.slowest) {
    written.slowest.push_back(to_python(region));
  }
  return written;
}

}  // namespace

void bind_timeline(nb::module_& module) {
  bind_record<TimelineBounds>(
      module, "TimelineBounds", "The part of a run that a timeline shows.",
      field("from_ps", &TimelineBounds::from), field("until_ps", &TimelineBounds::until),
      field("first_region", &TimelineBounds::first_region,
            "Number of the first region of each thread, from 1."),
      field("last_region", &TimelineBounds::last_region, "0: all regions."),
      field("slowest", &TimelineBounds::slowest, "Number of regions; 0: all."));
  bind_record<SlowRegion>(
      module, "SlowRegion", "One of the slowest regions of a run.",
      field("rank", &SlowRegion::rank, "1 is the slowest."), field("thread", &SlowRegion::thread),
      field("number", &SlowRegion::number, "Its number among the thread's regions, from 1."),
      field("begin_ps", &SlowRegion::begin, "Retirement of its begin."),
      field("retired_ps", &SlowRegion::retired, "Retirement of its end."),
      field("end_ps", &SlowRegion::end, "When it is durable, if the design makes it durable."),
      field("executions", &SlowRegion::executions), field("durable", &SlowRegion::durable),
      field("causes", &SlowRegion::causes, "Causes of waits at the head of the store queue."),
      field("stalls_ps", &SlowRegion::stalls, "The times of these waits."));
  bind_record<WrittenTimeline>(
      module, "Timeline", "The contents of a timeline's file.",
      field("time_ps", &WrittenTimeline::time, "Time at which the last core finished."),
      field("events", &WrittenTimeline::events, "Events of the run, shown or not."),
      field("regions", &WrittenTimeline::regions, "Regions of the run, shown or not."),
      field("slices", &WrittenTimeline::slices), field("values", &WrittenTimeline::values),
      field("tracks", &WrittenTimeline::tracks), field("rows", &WrittenTimeline::rows),
      field("arrows", &WrittenTimeline::arrows), field("slowest", &WrittenTimeline::slowest));
  module.def("write_timeline", &write, nb::arg("trace"), nb::arg("configuration"),
             nb::arg("bounds"), nb::arg("kanata"), nb::arg("path"), nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
