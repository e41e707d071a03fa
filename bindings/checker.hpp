// Checkers, as the Python module has them.
#pragma once

#include <optional>

#include "pmemsim/checks/checkers/checker_pool.hpp"

namespace pmemsim::bindings {

// What a checker has answered, if it rejects the image.
std::optional<CheckerAnswer> rejection(const CheckerAnswer& answer, bool library);

// Calls `report` several times a second, however often it is called.
CheckerProcess::KeepGoing seldom(CheckerProcess::KeepGoing report);

}  // namespace pmemsim::bindings
