// A range of addresses.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

struct Range {
  std::uint64_t begin, end;
};

}  // namespace pmemsim::rt
