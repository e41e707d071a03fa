// Writes an image's bytes to a file: the contents that a program would find if it mapped its PM
// again.
#pragma once

#include <string>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

// Writes the bytes from `begin` to below `end`. Pages that were never written become holes in the
// file. Throws Error.
void write_image(const Image& image, std::uint64_t begin, std::uint64_t end,
                 const std::string& path);

}  // namespace pmemsim
