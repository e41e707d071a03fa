// The parts of the Python module, one function a part.
#pragma once

#include <nanobind/nanobind.h>

namespace pmemsim::bindings {

void bind_errors(nanobind::module_& module);
void bind_trace(nanobind::module_& module);
void bind_simulator(nanobind::module_& module);

}  // namespace pmemsim::bindings
