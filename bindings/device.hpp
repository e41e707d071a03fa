// What a crash leaves, as Python has it.
#pragma once

#include <nanobind/nanobind.h>

#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace pmemsim::bindings {

// As the arguments that decode() takes.
nanobind::object told(const SurvivingRegisters& registers);

}  // namespace pmemsim::bindings
