// The contents of persistent memory at the end of recording.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// Reads the configuration from the environment.
void configure_contents();
// Notes that the image has this page, which isn't zero.
void note_image_page(std::uint64_t trace_address, const void* page);
// Writes the contents of the program's addresses [begin, end), which are about to be unmapped, or
// whose recording has ended.
void write_contents(std::uint64_t begin, std::uint64_t end);

}  // namespace pmemsim::rt
