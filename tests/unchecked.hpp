// A configuration whose combination of settings isn't checked, for tests of that check.
#pragma once

#include <vector>

#include "pmemsim/designs/choices.hpp"
#include "pmemsim/machine/run/configuration.hpp"

namespace pmemsim {

inline Configuration unchecked(const std::vector<Setting>& settings,
                               const ChoiceTable& table = choices()) {
  Configuration configuration;
  configuration.design = DesignConfiguration(table);
  ParameterSetter setter(settings);
  configuration.describe(setter);
  setter.throw_problems();
  return configuration;
}

}  // namespace pmemsim
