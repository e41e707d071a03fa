// Settings that change nothing: of a choice that a layer hasn't made, of another kind of memory
// than there is, of a cache or a table that is left out. Presets have them, since what uses them
// may be chosen beside; somebody who has set one by hand has expected something of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pmemsim/machine/run/configuration.hpp"

namespace pmemsim {

struct IdleSetting {
  std::string key;
  std::string why;  // "has no effect with ...; choose ..., or leave it out"
};

// Those of the configuration that these settings make up, each key once. Throws ConfigError if they
// don't make up one.
std::vector<IdleSetting> idle_settings(std::span<const Setting> settings,
                                       const ChoiceTable& table = choices());

}  // namespace pmemsim
