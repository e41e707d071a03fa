// pmemsim._core's check of a recorded program.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"
#include "pmemsim/checks/rules/program_check.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

nb::object to_object(const trace::SourcePlace& place) {
  if (place == trace::SourcePlace{}) return nb::none();
  nb::dict entry;
  entry["file"] = place.file;
  entry["line"] = place.line;
  entry["function"] = place.function;
  return entry;
}

nb::dict to_dict(const check::Finding& finding) {
  nb::list calls;
  for (const trace::SourcePlace& call : finding.calls) calls.append(to_object(call));
  nb::dict entry;
  entry["kind"] = name_of(finding.kind);
  entry["reason"] = name_of(finding.reason);
  entry["loses_data"] = loses_data(finding.kind);
  entry["place"] = to_object(finding.place);
  entry["calls"] = calls;
  entry["other"] = to_object(finding.other);
  entry["count"] = finding.count;
  entry["executions"] = finding.executions;
  entry["thread"] = finding.thread;
  entry["operation"] = finding.operation;
  return entry;
}

nb::dict check_program(const trace::TraceFile& trace, bool eadr, const nb::object& progress) {
  check::Report report;
  {
    nb::gil_scoped_release release;
    report = check::check_program(trace, {.eadr = eadr},
                                  [&](double share) { return bindings::report(progress, share); });
  }
  nb::list findings;
  for (const check::Finding& finding : report.findings) findings.append(to_dict(finding));
  nb::dict found;
  found["findings"] = findings;
  found["operations"] = report.operations;
  found["instructions"] = report.instructions;
  found["pm_stores"] = report.pm_stores;
  found["flushes"] = report.flushes;
  found["fences"] = report.fences;
  found["regions"] = report.regions;
  found["allocations"] = report.allocations;
  found["from_the_start"] = report.from_the_start;
  return found;
}

}  // namespace

void bind_check(nb::module_& module) {
  module.def("check_program", &check_program, nb::arg("trace"), nb::arg("eadr"),
             nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
