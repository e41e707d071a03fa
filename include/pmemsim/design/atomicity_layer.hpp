// All declarations that an implementation of the atomicity layer uses. This layer makes an atomic
// region all-or-nothing, and recovers it.
#pragma once

#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/designs/interface/persist_port.hpp"
