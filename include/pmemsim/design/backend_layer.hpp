// All declarations that an implementation of the backend layer uses. This layer defines what the
// controller does to a write before the write counts.
#pragma once

#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/backend/operation.hpp"
