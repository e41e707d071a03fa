// What a running program does to persistent memory, and what it is promised, for whoever verifies a
// design by crashing it.
#pragma once

#include <cstdint>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;
  // A store has become visible in the coherent caches. `site` is its instruction's; 0: a store has
  // been taken back there.
  virtual void stored(Line line, std::uint32_t site) = 0;
  // A flush has left the core.
  virtual void flushed(CoreId, Line) {}
  // From now on a crash may not take the core's region back any more: its durability fence or
  // synchronous end has completed, or the design itself holds it for committed.
  virtual void region_durable(CoreId core, std::uint64_t region) = 0;
  // What a store fence or full fence of the core promises is fulfilled; fences count from 1. That
  // may be later than the core goes on behind it.
  virtual void fence_fulfilled(CoreId core, std::uint64_t fence) = 0;
  // A load has read bytes that aren't the newest visible ones: its line came from PM before a store
  // to it had arrived there. `region`: the outermost one that it belongs to; 0: none.
  virtual void stale_load(CoreId, std::uint64_t /*region*/, Line) {}
  // The design has noticed that this line was read too early, and said so to software.
  virtual void stale_line_reported(Line) {}
  // The core's region begins again: what its loads have read counts for nothing.
  virtual void taken_back(CoreId) {}
};

class ProgramEvents {
 public:
  void observe(ProgramObserver* observer) { observer_ = observer; }
  void stored(Line line, std::uint32_t site) const {
    if (observer_ != nullptr) observer_->stored(line, site);
  }
  void flushed(CoreId core, Line line) const {
    if (observer_ != nullptr) observer_->flushed(core, line);
  }
  void region_durable(CoreId core, std::uint64_t region) const {
    if (observer_ != nullptr) observer_->region_durable(core, region);
  }
  void fence_fulfilled(CoreId core, std::uint64_t fence) const {
    if (observer_ != nullptr) observer_->fence_fulfilled(core, fence);
  }
  void stale_load(CoreId core, std::uint64_t region, Line line) const {
    if (observer_ != nullptr) observer_->stale_load(core, region, line);
  }
  void stale_line_reported(Line line) const {
    if (observer_ != nullptr) observer_->stale_line_reported(line);
  }
  void taken_back(CoreId core) const {
    if (observer_ != nullptr) observer_->taken_back(core);
  }

 private:
  ProgramObserver* observer_ = nullptr;
};

}  // namespace pmemsim
