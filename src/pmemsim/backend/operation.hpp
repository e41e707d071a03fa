// One operation of the backend: encryption, integrity, deduplication, ...
#pragma once

#include <cstdint>
#include <string>

#include "pmemsim/core/event_queue.hpp"
#include "pmemsim/core/statistics.hpp"
#include "pmemsim/mem/memory.hpp"

namespace pmemsim {

class BackendOperation {
 public:
  virtual ~BackendOperation() = default;
  // Once, before the run.
  virtual void connect(EventQueue&, const Memory&) {}

  // A write has reached the controller. True: nothing to do before it may go to the queues.
  // Otherwise `done` will be called once, not from within, unless the write is dropped first.
  virtual bool write(const Write&, Completion /*done*/) { return true; }
  // A write that it hasn't done with has been dropped: `done` must not be called any more.
  virtual void dropped(const Completion& /*done*/) {}
  // The same for a read.
  virtual bool read(Line, Completion /*done*/) { return true; }

  virtual void statistics(StatisticsCollector&) const {}
  virtual std::string pending() const { return {}; }
};

}  // namespace pmemsim
