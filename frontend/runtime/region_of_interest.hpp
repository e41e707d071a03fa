// Begins and ends recording.
#pragma once

namespace pmemsim::rt {

// From the environment; ends the program if that says something impossible.
void configure_region_of_interest();
// What main() does from here on is recorded if the whole run is of interest, else noted as warm.
void main_begins();

}  // namespace pmemsim::rt
