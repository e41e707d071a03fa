// Base-delta-immediate compression of a line (Pekhimenko, Seshadri, Mutlu, Gibbons, Kozuch, Mowry:
// PACT 2012).
//
//   1  A line that is all zero, or that repeats one word of 8 bytes, is stored as that word.
//   2  Any other line is divided into elements of 8, 4 or 2 bytes. Each is stored as a difference
//      of 1, 2 or 4 bytes to one base or to zero; a mask has one bit per element for this choice.
//      The base is the first element that isn't a difference to zero.
//   3  The shortest form that fits is taken. A line that no form makes shorter remains
//      uncompressed.
//   4  A compressed line begins with a byte that identifies its form, and ends with zeros. (In the
//      paper, the form and the mask are beside a cache's tags. Here they count as compressed
//      bytes.)
#pragma once

#include <cstdint>
#include <optional>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

struct CompressedLine {
  LineData line{};
  std::uint32_t bytes = 0;  // number of bytes before the filling zeros
};

std::optional<CompressedLine> compress(const LineData& data);
// Returns the decompressed line, or the line unchanged if its first byte gives no form.
LineData decompress(const LineData& line);

}  // namespace pmemsim
