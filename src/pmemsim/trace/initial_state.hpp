// The state at the begin of a trace's operations: the contents of persistent memory, and the lines
// that were touched last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

// Calls visit(address, bytes) for each 4096-byte page of PM that isn't all zero. Throws TraceError.
void for_each_image_page(
    const TraceFile& file,
    const std::function<void(std::uint64_t address, std::span<const std::byte>)>& visit);

// Returns the number of PM pages that for_each_image_page() visits, from the file's index alone.
std::uint64_t image_pages(const TraceFile& file);

// Calls visit for each line touched before the operations begin, the least recently touched first.
void for_each_warm_line(const TraceFile& file, const std::function<void(const WarmLine&)>& visit);

}  // namespace pmemsim::trace
