// The metadata of the trace.
#pragma once

#include <cstdint>

#include "record.hpp"

namespace pmemsim::rt {

// Checks the value of PMEMSIM_METADATA, which must be a JSON object.
void configure_metadata(const char* json, int argument_count, char** arguments);
void write_metadata(const Counts& counts, std::uint32_t thread_count);

}  // namespace pmemsim::rt
