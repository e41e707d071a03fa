// Reads of PM that pass through the backend's operations. A read first determines the place of its
// line, then reads the line there. It is answered when all operations are done with it.
#pragma once

#include <cstdint>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/memory/request_stages.hpp"

namespace pmemsim {

class PassingReads {
 public:
  PassingReads(EventQueue& queue, Memory& pm, const BackendParts& parts);

  void read(Line line, Completion done);
  void profile(RequestStages* stages) { waits_ = stages; }

 private:
  struct Reading {
    Line line;
    Completion done;
    std::uint32_t unanswered = 0;
    Time arrived{};  // the device's data
  };

  void located(std::uint64_t slot, Time now);
  void arrived(std::uint64_t slot, Time now);
  void answered(std::uint64_t slot, Time now);

  EventQueue& queue_;
  Memory& pm_;
  const BackendParts& parts_;
  RequestStages* waits_ = nullptr;  // nullptr: the run isn't profiled
  Picoseconds after_read_{};        // sum over all operations
  Slab<Reading> reads_;
};

}  // namespace pmemsim
