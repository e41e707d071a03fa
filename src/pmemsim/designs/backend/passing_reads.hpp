// Reads of PM that pass the backend's operations: each knows first where the line stands, then the
// line is read there, and the read is answered when the operations have done what they do with it.
#pragma once

#include <cstdint>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class PassingReads {
 public:
  PassingReads(EventQueue& queue, Memory& pm, const BackendParts& parts);

  void read(Line line, Completion done);

 private:
  struct Reading {
    Line line;
    Completion done;
    std::uint32_t unanswered = 0;
  };

  void located(std::uint64_t slot, Time now);
  void came(std::uint64_t slot, Time now);
  void answered(std::uint64_t slot, Time now);

  EventQueue& queue_;
  Memory& pm_;
  const BackendParts& parts_;
  Picoseconds after_read_{};  // of all operations
  Slab<Reading> reads_;
};

}  // namespace pmemsim
