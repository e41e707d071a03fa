// The heap that counts as persistent memory (heap.cpp), and the operators that call it
// (operators.cpp).
#pragma once

#include <cstdint>

namespace pmemsim::rt {

void configure_heap();
// find_operators() makes new and delete call the program's own operators, use_operators_of_heap()
// those of the heap that counts as PM.
void find_operators();
void use_operators_of_heap();
// Returns the end of the used part of the heap that counts as PM; 0 if no heap counts as PM.
std::uint64_t heap_end();

}  // namespace pmemsim::rt
