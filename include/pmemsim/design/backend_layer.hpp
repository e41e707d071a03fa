// Everything that an implementation of the backend layer sees: what the controller does to a write
// before it counts.
#pragma once

#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/backend/operation.hpp"
