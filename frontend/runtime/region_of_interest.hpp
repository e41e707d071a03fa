// Begins and ends recording.
#pragma once

namespace pmemsim::rt {

// Reads the environment; ends the program if its values are impossible.
void configure_region_of_interest();
// Called when main() begins. Begins recording if the whole run is of interest; otherwise begins to
// note touched lines for warm caches (warm.hpp).
void main_begins();

}  // namespace pmemsim::rt
