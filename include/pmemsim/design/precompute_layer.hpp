// Everything that an implementation of the precompute layer sees: who starts backend operations
// early.
#pragma once

#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
