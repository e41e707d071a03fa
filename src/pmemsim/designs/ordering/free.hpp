// An ideal ordering without stalls: flushes send their lines to memory, and fences complete without
// them. Janus compares with this ideal ("non-blocking writeback", 5.2.2). In the reading modelled
// here, not even the path to the controller stalls. It gives no durability guarantee: of a log and
// its data, which fences order, a crash may leave the data alone.
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
