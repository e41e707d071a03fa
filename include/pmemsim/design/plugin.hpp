// How a plug-in says what it has: PMEMSIM_PLUGIN(rows...) once, outside of functions and
// namespaces. A row says what an implementation of a layer is called, needs and guarantees, and how
// it is made (pmemsim/designs/interface/choice.hpp).
//
//   PMEMSIM_PLUGIN(mine::write_through_row())
#pragma once

#include <vector>

#include "pmemsim/design/version.hpp"
#include "pmemsim/designs/interface/choice.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

// pmemsim reads the version in the plug-in's file, before it executes anything of the plug-in.
#define PMEMSIM_PLUGIN(...)                                                                    \
  extern "C" {                                                                                 \
  [[gnu::used, gnu::visibility("default")]] extern const char pmemsim_plugin_version[];        \
  const char pmemsim_plugin_version[] = PMEMSIM_DESIGN_VERSION;                                \
  [[gnu::visibility("default")]] void pmemsim_plugin_rows(std::vector<pmemsim::Choice>& rows); \
  void pmemsim_plugin_rows(std::vector<pmemsim::Choice>& rows) { rows = {__VA_ARGS__}; }       \
  }
