// An ideal ordering without stalls: flushes send their lines to memory, and fences don't wait for
// these lines. Janus compares with this ideal ("non-blocking writeback", 5.2.2). Here, the latency
// of the path to the controller stalls no core either. This ordering gives no durability guarantee:
// a crash may leave data without the log entry that a fence ordered before them.
#pragma once

#include "pmemsim/designs/ordering/no_ordering.hpp"

namespace pmemsim {

class FreeOrdering final : public NoOrdering {
 public:
  Lowering lowering() const override { return {}; }
  bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
             Completion) override {
    caches_->flush(core, line, kind != trace::FlushKind::kClwb, dirty, when, no_completion());
    return true;
  }
  bool fence(const Fence& fence, Time, Completion) override {
    program_events_->fence_fulfilled(fence.core, fence.number);
    return true;
  }
};

}  // namespace pmemsim
