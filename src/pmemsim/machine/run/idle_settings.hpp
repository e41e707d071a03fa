// Settings that change nothing: of a choice that a layer hasn't made, of another kind of memory
// than there is, of a cache or a table that is left out. Presets have them, since what uses them
// may be chosen beside; somebody who has set one by hand has expected something of it.
#pragma once

#include <string>
#include <string_view>

#include "pmemsim/machine/run/configuration.hpp"

namespace pmemsim {

// Returns why a setting of this key changes nothing in the configuration: "has no effect with ...;
// choose ..., or leave it out". Empty if it may change something.
std::string why_idle(const Configuration& configuration, std::string_view key);

}  // namespace pmemsim
