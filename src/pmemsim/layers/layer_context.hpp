// What a layer works with.
#pragma once

#include "pmemsim/backend/backend.hpp"
#include "pmemsim/core/clock.hpp"
#include "pmemsim/core/event_queue.hpp"
#include "pmemsim/layers/cache_port.hpp"
#include "pmemsim/layers/pm_space.hpp"
#include "pmemsim/layers/program_events.hpp"
#include "pmemsim/layers/thread_control.hpp"
#include "pmemsim/mem/memory.hpp"

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
