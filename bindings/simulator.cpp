// The simulator in pmemsim._core: the available implementations of layers, and one call that
// simulates a recording.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <iterator>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/machine/run/profile.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {

std::vector<std::string> to_strings(const std::vector<Path>& paths) {
  return {paths.begin(), paths.end()};
}

bool report(const Progress& progress, double share) {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (progress) (*progress)(share);
  return true;
}

namespace {

struct Implementation {
  std::string layer, name, summary;
  std::vector<std::string> needs, gives, parameters;
};

std::vector<Implementation> list_layers() {
  std::vector<Implementation> found;
  for (const Choice& choice : choices()) {
    found.push_back({.layer = std::string(choice.layer_name()),
                     .name = std::string(choice.name),
                     .summary = std::string(choice.summary),
                     .needs = {choice.needs.begin(), choice.needs.end()},
                     .gives = {choice.gives.begin(), choice.gives.end()},
                     .parameters = {}});
    for (const ParameterGroup& group : choice.parameters) {
      found.back().parameters.emplace_back(group.name());
    }
  }
  return found;
}

RunResult simulate(const trace::TraceFile& trace, const Configuration& configuration,
                   const Progress& progress, const std::vector<Path>& images,
                   const Contents* contents) {
  const nb::gil_scoped_release release;
  const HandlerStack room;
  return pmemsim::simulate(
      trace, configuration, [&](double share) { return report(progress, share); },
      to_strings(images), contents != nullptr ? contents->pages : nullptr);
}

ProfileReport profile(const trace::TraceFile& trace, const Configuration& configuration,
                      const Progress& progress) {
  const nb::gil_scoped_release release;
  const HandlerStack room;
  return pmemsim::profile(trace, configuration,
                          [&](double share) { return report(progress, share); });
}

Contents load_contents(const trace::TraceFile& trace) {
  const nb::gil_scoped_release release;
  return {pmemsim::load_contents(trace)};
}

void bind_simulator_records(nb::module_& module) {
  bind_record<Implementation>(
      module, "Implementation", "One implementation of one of a design's four layers.",
      field("layer", &Implementation::layer), field("name", &Implementation::name),
      field("summary", &Implementation::summary), field("needs", &Implementation::needs),
      field("gives", &Implementation::gives),
      field("parameters", &Implementation::parameters,
            "Names of the parameter groups that configure the implementation."));
  bind_record<Statistic>(module, "Statistic", "One statistic of a run.",
                         field("name", &Statistic::name), field("value", &Statistic::value),
                         field("unit", &Statistic::unit),
                         field("description", &Statistic::description));
  bind_record<Latencies::Bucket>(
      module, "LatencyBucket", "Events whose latency is in one interval.",
      field("from_ps", &Latencies::Bucket::from, "Shortest latency of the interval."),
      field("count", &Latencies::Bucket::count));
  bind_record<RunResult>(
      module, "RunResult", "The results of a run.",
      field("instructions", &RunResult::instructions, "Instructions simulated on all cores."),
      field("regions", &RunResult::regions, "Outermost atomic regions completed."),
      field("pm_write_bytes", &RunResult::pm_write_bytes),
      field("time_ps", &RunResult::time, "Time at which the last core finished."),
      field("threads", &RunResult::threads), field("wall_s", &RunResult::wall_s),
      field("statistics", &RunResult::statistics),
      field("stalls", &RunResult::stalls, "How each core spent its time."),
      field("region_latencies", &RunResult::region_latencies,
            "Regions by their time from begin to end."),
      field("commit_latencies", &RunResult::commit_latencies,
            "Regions by their time from the end until they were durable."),
      field("relations", &RunResult::relations, "Number of checked relations between statistics."));
  bind_record<ProfileRow>(
      module, "ProfileRow", "A part of a run's time.",
      field("calls", &ProfileRow::calls,
            "Numbers of the places: the source line, then the lines that call its function."),
      field("cause", &ProfileRow::cause, "What the time was spent on."),
      field("account", &ProfileRow::account, "The statistic stall.ACCOUNT_ns includes the time."),
      field("lock", &ProfileRow::lock,
            "Whether other threads waited for a lock while its holder stalled here."),
      field("time_ps", &ProfileRow::time));
  nb::class_<ProfileReport>(module, "ProfileReport")
      .def_ro("result", &ProfileReport::result)
      .def_ro("places", &ProfileReport::places)
      .def_ro("rows", &ProfileReport::rows);
}

}  // namespace

void bind_simulator(nb::module_& module) {
  bind_simulator_records(module);
  nb::class_<Contents>(module, "Contents",
                       "The contents of persistent memory at the begin of a recording.");
  module.def("layer_names", [] {
    return std::vector<std::string>(std::begin(kLayerNames), std::end(kLayerNames));
  });
  module.def("layers", &list_layers, "Every implementation of every layer.");
  module.def("load_plugin", &load_plugin, nb::arg("path"), nb::arg("library"),
             "Add a plug-in's implementations to the layers. `library` is the path of "
             "libpmemsim.so.");
  module.def("load_contents", &load_contents, nb::arg("trace"));
  module.def("profile", &profile, nb::arg("trace"), nb::arg("configuration"),
             nb::arg("progress").none());
  module.def("simulate", &simulate, nb::arg("trace"), nb::arg("configuration"),
             nb::arg("progress").none(), nb::arg("images"), nb::arg("contents").none());
}

}  // namespace pmemsim::bindings
