// The heap that counts as persistent memory (heap.cpp), and the operators that lead to it
// (operators.cpp).
#pragma once

#include <cstdint>

namespace pmemsim::rt {

void configure_heap();
// Operators new and delete lead to what the program has, or to the heap that counts as PM.
void find_operators();
void use_operators_of_heap();
// Up to where the heap that counts as PM has been used; 0 if it doesn't count.
std::uint64_t heap_end();

}  // namespace pmemsim::rt
