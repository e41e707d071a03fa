// Declares the contents of a plug-in: PMEMSIM_PLUGIN(rows...) once, outside of functions and
// namespaces. A row has the name, the needs and the guarantees of an implementation of a layer, and
// a function that makes it (pmemsim/designs/interface/choice.hpp).
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
