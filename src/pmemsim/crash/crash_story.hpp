// What the explanation of a violation says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// What went wrong first, in full.
struct CrashStory {
  std::uint64_t point = 0;  // counted from 1
  Time when{};
  std::vector<std::string> lines;
};

}  // namespace pmemsim
