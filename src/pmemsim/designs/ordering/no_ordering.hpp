// No persist ordering: lines become persistent when the caches evict them, in any order. The
// program has neither flushes nor store fences. This ordering is the upper bound on performance
// ("NP" in ASAP, section 6.3).
#pragma once

#include "pmemsim/designs/ordering/ordering.hpp"

namespace pmemsim {

class NoOrdering : public Ordering {
 public:
  void connect(const LayerContext& context) override {
    caches_ = &context.caches;
    program_events_ = &context.program_events;
  }

  Lowering lowering() const override {
    Lowering lowering = Lowering::without({trace::Purpose::kDataFlush});
    lowering.keeps_flushes.fill(false);
    lowering.keeps_fences.fill(false);
    return lowering;
  }
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  // Sends the line of a non-temporal store to memory. No core stalls for this write.
  void non_temporal(CoreId core, Line line, ByteMask bytes, Time when) override {
    caches_->combine(core, line, bytes, when, no_completion());
  }
  bool fence(const Fence&, Time, Completion) override { return true; }

 protected:
  static Completion no_completion() {
    return {[](void*, std::uint64_t, Time) {}, nullptr, 0};
  }

  CachePort* caches_ = nullptr;
  const ProgramEvents* program_events_ = nullptr;
};

}  // namespace pmemsim
