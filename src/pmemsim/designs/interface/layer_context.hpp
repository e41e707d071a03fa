// The components that a layer works with.
#pragma once

#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/interface/cache_port.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"
#include "pmemsim/designs/interface/program_events.hpp"
#include "pmemsim/designs/interface/thread_control.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

// A layer accesses PM only through the backend `pm`: its writes, reads, look-ups, drops, counts and
// reservations.
struct LayerContext {
  EventQueue& queue;
  const Clock& clock;  // the cores' clock
  CachePort& caches;
  Backend& pm;
  Memory& dram;
  PmSpace& pm_space;
  const ProgramEvents& program_events;
  ThreadControl& threads;
};

}  // namespace pmemsim
