// The linter in pmemsim._core: one call that checks the hints of a recording.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "pmemsim/checks/hints/lint_hints.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

HintReport lint_hints(const trace::TraceFile& trace, const Configuration& configuration,
                      const Progress& progress) {
  const nb::gil_scoped_release release;
  const HandlerStack room;
  return pmemsim::lint_hints(trace, configuration,
                             [&](double share) { return bindings::report(progress, share); });
}

// Returns a property that is a member of a member.
template <class Outer, class Inner, class Value>
auto member(Inner Outer::* inner, Value Inner::* value) {
  return [inner, value](const Outer& outer) { return outer.*inner.*value; };
}

}  // namespace

void bind_lint(nb::module_& module) {
  nb::class_<HintFinding>(module, "HintFinding")
      .def_prop_ro("kind", [](const HintFinding& found) { return name_of(found.cause).kind; })
      .def_prop_ro("reason", [](const HintFinding& found) { return name_of(found.cause).reason; })
      .def_ro("place", &HintFinding::place)
      .def_ro("store", &HintFinding::store)
      .def_ro("of_library", &HintFinding::of_library)
      .def_prop_ro("count", member(&HintFinding::found, &SiteFinding::count))
      .def_prop_ro("writes", member(&HintFinding::found, &SiteFinding::writes))
      .def_prop_ro("lost_ps", member(&HintFinding::found, &SiteFinding::lost))
      .def_prop_ro("waited_ps", member(&HintFinding::found, &SiteFinding::waited))
      .def_prop_ro("distance_ps", member(&HintFinding::found, &SiteFinding::distance));
  nb::class_<HintReport>(module, "HintReport")
      .def_ro("time_ps", &HintReport::time)
      .def_ro("hints", &HintReport::hints)
      .def_prop_ro("hinted_lines", member(&HintReport::totals, &HintTotals::hinted_lines))
      .def_prop_ro("in_time", member(&HintReport::totals, &HintTotals::in_time))
      .def_prop_ro("writes", member(&HintReport::totals, &HintTotals::writes))
      .def_prop_ro("waited_ps", member(&HintReport::totals, &HintTotals::waited))
      .def_ro("findings", &HintReport::findings);
  module.def("lint_hints", &lint_hints, nb::arg("trace"), nb::arg("configuration"),
             nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
