// pmemsim._core's linter: one call that judges the hints of a recording.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "pmemsim/checks/hints/lint_hints.hpp"
#include "pmemsim/machine/run/configuration.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

nb::dict to_dict(const HintFinding& finding) {
  const HintCauseName name = name_of(finding.cause);
  nb::dict entry;
  entry["kind"] = name.kind;
  entry["reason"] = name.reason;
  entry["file"] = finding.place.file;
  entry["line"] = finding.place.line;
  entry["function"] = finding.place.function;
  entry["store_file"] = finding.store.file;
  entry["store_line"] = finding.store.line;
  entry["store_function"] = finding.store.function;
  entry["of_library"] = finding.of_library;
  entry["count"] = finding.found.count;
  entry["writes"] = finding.found.writes;
  entry["lost_ps"] = finding.found.lost.count;
  entry["waited_ps"] = finding.found.waited.count;
  entry["distance_ps"] = finding.found.distance.count;
  return entry;
}

nb::dict lint_hints(const trace::TraceFile& trace, const Configuration& configuration,
                    const nb::object& progress) {
  HintReport report;
  {
    nb::gil_scoped_release release;
    report = pmemsim::lint_hints(trace, configuration,
                                 [&](double share) { return bindings::report(progress, share); });
  }
  nb::list findings;
  for (const HintFinding& finding : report.findings) findings.append(to_dict(finding));
  nb::dict found;
  found["time_ps"] = report.time.count;
  found["hints"] = report.hints;
  found["hinted_lines"] = report.totals.hinted_lines;
  found["in_time"] = report.totals.in_time;
  found["writes"] = report.totals.writes;
  found["waited_ps"] = report.totals.waited.count;
  found["findings"] = findings;
  return found;
}

}  // namespace

void bind_lint(nb::module_& module) {
  module.def("lint_hints", &lint_hints, nb::arg("trace"), nb::arg("configuration"),
             nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
