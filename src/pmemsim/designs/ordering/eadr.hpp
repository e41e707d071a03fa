// eADR: the caches belong to the persistence domain, so a store is persistent when it becomes
// visible. Flushes and store fences aren't part of the program. A software log remains part of the
// program, because atomicity needs one (Intel, "eADR: new opportunities for persistent memory
// applications", 2021).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "pmemsim/designs/ordering/ordering_parameters.hpp"

namespace pmemsim {

class EadrOrdering final : public NoOrdering {
 public:
  EadrOrdering(std::uint32_t cores, const EadrFaults& faults) : faults_(faults), late_(cores) {}
  void connect(const LayerContext& context) override {
    NoOrdering::connect(context);
    pm_ = &context.pm;
    newest_ = &context.pm_space.newest();
    program_events_ = &context.program_events;
  }
  std::uint32_t interests() const override {
    if (faults_.caches) return kEvictions;
    // kStores is requested only so that each store becomes visible at its own time.
    return kStores | kVisibleStores | (faults_.evictions ? kEvictions : 0u);
  }
  // The line is persistent already, except with the injected fault of caches that don't survive.
  void non_temporal(CoreId core, Line line, ByteMask bytes, Time when) override {
    if (faults_.caches) persist(line);
    NoOrdering::non_temporal(core, line, bytes, when);
  }
  // The fence is fulfilled at once: earlier stores have left the store queue.
  bool fence(const Fence& fence, Time, Completion) override {
    program_events_->fence_fulfilled(fence.core, fence.number);
    return true;
  }
  void visible(CoreId core, Line line) override {
    if (faults_.order && !late_[core]) {
      late_[core] = line;
      return;
    }
    persist(line);
    if (const auto late = std::exchange(late_[core], {})) persist(*late);
  }
  // Called only with an injected fault. With `caches`, only lines that leave the caches survive.
  // With `evictions`, evicted lines are lost.
  Eviction evicted(Line line, const LineData& data, Time) override {
    if (faults_.caches) {
      pm_->persisted_in_caches(line, data);
      return Eviction::kWrite;
    }
    pm_->persisted_in_caches(line, pm_->surviving(line));
    return Eviction::kTaken;
  }

 private:
  void persist(Line line) { pm_->persisted_in_caches(line, newest_->read(line)); }

  const EadrFaults faults_;
  Backend* pm_ = nullptr;
  const Image* newest_ = nullptr;
  const ProgramEvents* program_events_ = nullptr;
  std::vector<std::optional<Line>>
      late_;  // by core: line of the store that the next store overtakes (fault `order`)
};

}  // namespace pmemsim
