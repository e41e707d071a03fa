// The functions of libpmem and libpmem2 (PMDK) that make data persistent, as recorded code calls
// them.
#pragma once

#include "replacements.hpp"

namespace pmemsim::rt {

extern const Replacements kLibpmem, kLibpmem2;

}  // namespace pmemsim::rt
