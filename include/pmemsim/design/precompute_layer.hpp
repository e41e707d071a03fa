// All declarations that an implementation of the precompute layer uses. This layer starts backend
// operations early.
#pragma once

#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
