// x86 persist ordering: clwb, clflushopt and clflush send a line to PM, sfence stalls until every
// line that the core has flushed is persistent.
//
//   1  A flush occupies an entry of the store queue, behind the earlier stores (Intel SDM vol. 2,
//      CLWB: ordered with older stores to the line; vol. 3A ch. 9.2).
//   2  Flushes overlap: the queue continues while the line is in flight. CLFLUSH, which is ordered
//      with respect to other CLFLUSHes and stores, is the exception.
//   3  SFENCE leaves the queue when all earlier flushes have been acknowledged (PMEM-Spec, 8.1:
//      "SFENCE ... ensures prior CLWBs complete"). MFENCE and
//      locked instructions stall in the same way, after the store queue has become empty.
//   4  A flush writes nothing if all caches have only clean copies of its line.
#pragma once

#include <vector>

#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/ordering/ordering_parameters.hpp"

namespace pmemsim {

class X86Ordering final : public Ordering {
 public:
  X86Ordering(std::uint32_t cores, const X86Faults& faults) : faults_(faults), cores_(cores) {}
  void connect(const LayerContext& context) override {
    caches_ = &context.caches;
    program_events_ = &context.program_events;
  }

  Lowering lowering() const override { return {}; }
  std::uint32_t interests() const override { return faults_.evictions ? kEvictions : 0u; }
  void non_temporal(CoreId core, Line line, ByteMask bytes, Time when) override;
  bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
             Completion resume) override;
  bool fence(const Fence& fence, Time when, Completion resume) override;
  // Called only with an injected fault: the line is lost.
  Eviction evicted(Line, const LineData&, Time) override { return Eviction::kTaken; }
  bool may_leave(Line) const override { return !faults_.evictions; }
  std::string pending() const override;

 private:
  struct PerCore {
    std::uint32_t outstanding = 0;  // flushes that have not been acknowledged
    Completion waiting;             // resumes the fence (or clflush) that stalls for them
    std::uint64_t fence = 0;        // the stalled fence's number; 0: none
  };
  void acknowledged(std::uint64_t core, Time now);

  const X86Faults faults_;
  CachePort* caches_ = nullptr;
  const ProgramEvents* program_events_ = nullptr;
  std::vector<PerCore> cores_;
};

}  // namespace pmemsim
