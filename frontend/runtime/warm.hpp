// Lines touched before the region of interest.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// The value in the tables of thread numbers for a thread without operations.
inline constexpr std::uint32_t kNotRecorded = UINT32_MAX;
void touch(const volatile void* address, std::uint32_t bytes, bool written);
void write_warm_lines(const std::uint32_t* thread_numbers);

}  // namespace pmemsim::rt
