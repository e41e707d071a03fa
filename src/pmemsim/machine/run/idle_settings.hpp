// Detection of settings that have no effect. Such a setting belongs to an implementation that is
// not chosen, to another kind of memory, or to an absent cache or table. Presets may contain such
// settings, because other settings may add the component. A setting that the user gives should have
// an effect.
#pragma once

#include <string>
#include <string_view>

#include "pmemsim/machine/run/configuration.hpp"

namespace pmemsim {

// Explains why a setting of this key has no effect in the configuration: "has no effect with ...;
// choose ..., or leave it out". Empty if it may have an effect.
std::string why_idle(const Configuration& configuration, std::string_view key);

}  // namespace pmemsim
