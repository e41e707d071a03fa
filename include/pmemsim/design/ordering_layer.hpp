// All declarations that an implementation of the ordering layer uses. This layer defines when a
// store becomes persistent, and in which order.
#pragma once

#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/interface/persist_port.hpp"
#include "pmemsim/designs/ordering/durable_fence.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
