// Checkers, as the Python module has them.
#pragma once

#include <nanobind/nanobind.h>

#include "pmemsim/checks/checkers/checker_pool.hpp"

namespace pmemsim::bindings {

const char* name_of(CheckerAnswer::Ending ending);

// What a checker has said of an image, for Python: how it ended, with which status, the last bytes
// that it wrote, and the seconds that it took. None if that is good.
nanobind::object verdict(const CheckerAnswer& answer, bool library);

// Calls `report` several times a second, however often it is called.
CheckerProcess::KeepGoing seldom(CheckerProcess::KeepGoing report);

}  // namespace pmemsim::bindings
