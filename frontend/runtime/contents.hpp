// What persistent memory holds at the end.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// From the environment.
void configure_contents();
// The image has this page, which isn't zero.
void note_image_page(std::uint64_t place, const void* page);
// [begin, end) of the program is about to be unmapped, or recording has ended.
void write_contents(std::uint64_t begin, std::uint64_t end);

}  // namespace pmemsim::rt
