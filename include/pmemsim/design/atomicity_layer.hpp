// Everything that an implementation of the atomicity layer sees: what makes an atomic region
// all-or-nothing, and how it is recovered.
#pragma once

#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/designs/interface/persist_port.hpp"
