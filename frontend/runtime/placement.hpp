// Makes the addresses that the kernel chooses independent of what else is installed on the
// computer, and of the limits and the size of the environment that the program inherits.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// Called before the program is executed again.
void prepare_placement();
// Undoes prepare_placement() if the program could not be executed again.
void abandon_placement();
// Called in the program that has been executed again.
void fix_placement();
// Makes [begin, end) available because the program requests these addresses.
void release_filler(std::uint64_t begin, std::uint64_t end);
// Returns the user's own definition, such as "LD_PRELOAD=...", that a variable of
// prepare_placement() keeps; nullptr: it keeps none.
const char* users_variable(const char* variable);

}  // namespace pmemsim::rt
