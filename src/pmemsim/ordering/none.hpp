// No persist ordering: lines become persistent when the caches evict them, in any order. The upper
// bound on performance ("NP" in ASAP, section 6.3): flushes and store fences aren't part of the
// program.
#pragma once

#include "pmemsim/ordering/ordering.hpp"

namespace pmemsim {

class NoOrdering : public Ordering {
 public:
  void connect(const LayerContext& context) override { caches_ = &context.caches; }

  Lowering lowering() const override {
    Lowering lowering = Lowering::without({trace::Purpose::kDataFlush});
    lowering.keeps_flushes.fill(false);
    lowering.keeps_fences.fill(false);
    return lowering;
  }
  // Only non-temporal stores come here: their lines go to memory, and nobody waits.
  bool flush(CoreId core, Line line, trace::FlushKind, bool dirty, Picoseconds when,
             Completion) override {
    const Completion nobody{[](void*, std::uint64_t, Picoseconds) {}, nullptr, 0};
    caches_->flush(core, line, true, dirty, when, nobody);
    return true;
  }
  bool fence(const Fence&, Picoseconds, Completion) override { return true; }

 private:
  CachePort* caches_ = nullptr;
};

}  // namespace pmemsim
