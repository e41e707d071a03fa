// Base-delta-immediate compression of a line (Pekhimenko, Seshadri, Mutlu, Gibbons, Kozuch, Mowry:
// PACT 2012).
//
//   1  A line that is all zero, or one word of eight bytes again and again, is that word.
//   2  Otherwise its elements, of 8, 4 or 2 bytes, are differences of 1, 2 or 4 bytes, each to one
//      base or to zero: a mask says to which. The base is the first element that isn't a
//      difference to zero.
//   3  Of all ways that do, the shortest is taken. What none makes shorter stays as it is.
//   4  A compressed line begins with a byte that says how it is compressed; zeros fill it up. (The
//      paper has that number, and the mask, beside a cache's tags; here they are counted among the
//      compressed bytes.)
#pragma once

#include <cstdint>
#include <optional>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

struct CompressedLine {
  LineData line{};
  std::uint32_t bytes = 0;  // of it, that say something
};

std::optional<CompressedLine> compress(const LineData& data);
// What isn't a compressed line stays as it is.
LineData decompress(const LineData& line);

}  // namespace pmemsim
