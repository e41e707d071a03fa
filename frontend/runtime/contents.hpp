// The contents of persistent memory at the end of recording.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// Reads the configuration from the environment.
void configure_contents();
// Notes that the trace's initial image contains this page, which isn't zero.
void note_image_page(std::uint64_t trace_address, const void* page);
// Writes the contents of the program's addresses [begin, end). Called before they are unmapped, and
// at the end of recording.
void write_contents(std::uint64_t begin, std::uint64_t end);

}  // namespace pmemsim::rt
