// Detection of settings that have no effect. They belong to an implementation that is not chosen,
// to another kind of memory, or to a cache or table that is left out. Presets may contain such
// settings, because other settings may choose the component. A setting that the user gives is
// expected to have an effect.
#pragma once

#include <string>
#include <string_view>

#include "pmemsim/machine/run/configuration.hpp"

namespace pmemsim {

// Explains why a setting of this key has no effect in the configuration: "has no effect with ...;
// choose ..., or leave it out". Empty if it may have an effect.
std::string why_idle(const Configuration& configuration, std::string_view key);

}  // namespace pmemsim
