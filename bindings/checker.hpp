// Checkers for the Python module.
#pragma once

#include <optional>

#include "pmemsim/checks/checkers/checker_pool.hpp"

namespace pmemsim::bindings {

// Returns the checker's answer if it rejects the image, otherwise nothing.
std::optional<CheckerAnswer> rejection(const CheckerAnswer& answer, bool library);

// Returns a function that calls `report` at most every 50 ms, however often it is called.
CheckerProcess::KeepGoing rate_limited(CheckerProcess::KeepGoing report);

}  // namespace pmemsim::bindings
