// Stacks of the recorded threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pmemsim::rt {

void* take_stack(std::size_t bytes);
bool is_stack(std::uint64_t address);
void return_stack(void* begin, std::size_t bytes);

}  // namespace pmemsim::rt
