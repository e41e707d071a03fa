// The explanation of a violation, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// The explanation of the first violation.
struct CrashExplanation {
  std::uint64_t point = 0;  // Counted from 1
  Time when{};
  std::vector<std::string> lines;
};

}  // namespace pmemsim
