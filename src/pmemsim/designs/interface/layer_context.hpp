// What a layer works with.
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

// All that a layer wants of PM goes through the backend: what is written, read, found, dropped,
// counted and reserved there.
struct LayerContext {
  EventQueue& queue;
  const Clock& clock;  // of the cores
  CachePort& caches;
  Backend& pm;
  Memory& dram;
  PmSpace& pm_space;
  const ProgramEvents& program_events;
  ThreadControl& threads;
};

}  // namespace pmemsim
