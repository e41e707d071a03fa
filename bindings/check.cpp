// Check of a recorded program in pmemsim._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/checks/rules/program_check.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

using check::Finding;
using check::OtherOrder;
using check::Report;
using trace::SourceLocation;

std::vector<SourceLocation> known(const std::vector<SourceLocation>& calls) {
  std::vector<SourceLocation> known;
  std::ranges::copy_if(calls, std::back_inserter(known),
                       [](const SourceLocation& call) { return call != SourceLocation{}; });
  return known;
}

std::optional<SourceLocation> if_known(const SourceLocation& place) {
  if (place == SourceLocation{}) return {};
  return place;
}

Report check_program(const trace::TraceFile& trace, bool eadr, bool each_path,
                     const Progress& progress) {
  const nb::gil_scoped_release release;
  return check::check_program(trace, {.eadr = eadr, .each_path = each_path},
                              [&](double share) { return bindings::report(progress, share); });
}

}  // namespace

void bind_check(nb::module_& module) {
  nb::class_<OtherOrder>(module, "OtherOrder")
      .def_ro("store", &OtherOrder::store)
      .def_prop_ro("store_calls", [](const OtherOrder& order) { return known(order.store_calls); })
      .def_prop_ro("fence", [](const OtherOrder& order) { return if_known(order.fence); })
      .def_prop_ro("fence_calls", [](const OtherOrder& order) { return known(order.fence_calls); })
      .def_ro("thread", &OtherOrder::thread)
      .def_ro("operation", &OtherOrder::operation);
  nb::class_<Finding>(module, "Finding")
      .def_prop_ro("kind", [](const Finding& finding) { return name_of(finding.kind); })
      .def_prop_ro("reason", [](const Finding& finding) { return name_of(finding.reason); })
      .def_ro("place", &Finding::place)
      .def_prop_ro("calls", [](const Finding& finding) { return known(finding.calls); })
      .def_prop_ro("other", [](const Finding& finding) { return if_known(finding.other); })
      .def_prop_ro("other_calls", [](const Finding& finding) { return known(finding.other_calls); })
      .def_ro("count", &Finding::count)
      .def_ro("executions", &Finding::executions)
      .def_ro("thread", &Finding::thread)
      .def_ro("operation", &Finding::operation)
      .def_ro("order", &Finding::order);
  nb::class_<Report>(module, "Report")
      .def_ro("findings", &Report::findings)
      .def_ro("operations", &Report::operations)
      .def_ro("instructions", &Report::instructions)
      .def_ro("pm_stores", &Report::pm_stores)
      .def_ro("flushes", &Report::flushes)
      .def_ro("fences", &Report::fences)
      .def_ro("regions", &Report::regions)
      .def_ro("allocations", &Report::allocations)
      .def_ro("replies", &Report::replies)
      .def_ro("from_the_start", &Report::from_the_start)
      .def_ro("all_in_vain", &Report::all_in_vain);
  module.def("check_program", &check_program, nb::arg("trace"), nb::arg("eadr"),
             nb::arg("each_path"), nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
