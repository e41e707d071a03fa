// Write-backs that nobody waits for: flushes send their lines on their way, fences wait for none of
// them. The ideal that Janus compares with ("non-blocking writeback", 5.2.2), in the reading in
// which not even the way to the controller is waited for. Nothing is promised any more: of what
// fences order, a log before its data, a crash may leave the second alone.
#pragma once

#include "pmemsim/designs/ordering/no_ordering.hpp"

namespace pmemsim {

class FreeOrdering final : public NoOrdering {
 public:
  Lowering lowering() const override { return {}; }
  bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
             Completion) override {
    caches_->flush(core, line, kind != trace::FlushKind::kClwb, dirty, when, nobody());
    return true;
  }
  bool fence(const Fence& fence, Time, Completion) override {
    program_events_->fence_fulfilled(fence.core, fence.number);
    return true;
  }
};

}  // namespace pmemsim
