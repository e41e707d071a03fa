// The events that a crash checker observes: a running program's accesses to persistent memory, and
// the durability guarantees that come into force for it. A timeline logs some of them.
#pragma once

#include <cstdint>

#include "pmemsim/common/stage_log.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/interface/commit_latencies.hpp"

namespace pmemsim {

class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;
  // A store has become visible in the coherent caches. `site` is the site of its instruction. 0:
  // the call reports that a store to the line has been rolled back.
  virtual void stored(Line line, std::uint32_t site) = 0;
  // A flush has left the core.
  virtual void flushed(CoreId, Line) {}
  // The core's region is durable: a later crash must not roll it back. The region's durability
  // fence or synchronous end has completed, or the design itself treats the region as committed.
  virtual void region_durable(CoreId core, std::uint64_t region) = 0;
  // The durability guarantee of a store fence or full fence of the core is fulfilled; fences count
  // from 1. The core may have passed the fence earlier.
  virtual void fence_fulfilled(CoreId core, std::uint64_t fence) = 0;
  // A load has read bytes that aren't the newest visible ones: the line was fetched from PM before
  // a store to it had arrived there. `region`: the load's outermost region; 0: none.
  virtual void stale_load(CoreId, std::uint64_t /*region*/, Line) {}
  // The design has detected that this line was read too early, and has reported it to software.
  virtual void stale_line_reported(Line) {}
  // The core's region re-executes: the values that its loads have read no longer count.
  virtual void rolled_back(CoreId) {}
};

class ProgramEvents {
 public:
  void observe(ProgramObserver* observer) { observer_ = observer; }
  void log_stages(StageLog* stages) { stages_ = stages; }
  // Measures when regions become durable.
  void measure(CommitLatencies* commits) { commits_ = commits; }
  // The log of stages; nullptr: there is none.
  StageLog* stages() const { return stages_; }
  // Logs the number of entries of a structure that are in use now. `unit`: its core or channel.
  void log_occupancy(std::uint32_t unit, LoggedStructure structure, std::uint64_t entries) const {
    if (stages_ == nullptr) [[likely]]
      return;
    stages_->add({.stage = Stage::kOccupancy,
                  .detail = static_cast<std::uint8_t>(structure),
                  .unit = unit,
                  .id = entries,
                  .at = {stages_->now()}});
  }
  void stored(Line line, std::uint32_t site) const {
    if (observer_ != nullptr) observer_->stored(line, site);
  }
  void flushed(CoreId core, Line line) const {
    if (observer_ != nullptr) observer_->flushed(core, line);
  }
  // The outermost region's end has retired.
  void region_ended(CoreId core, std::uint64_t region, Time when) const {
    if (commits_ != nullptr) commits_->ended(core, region, when);
  }
  void region_durable(CoreId core, std::uint64_t region) const {
    if (observer_ != nullptr) observer_->region_durable(core, region);
    if (commits_ != nullptr) commits_->durable(core, region, commits_->now());
    if (stages_ != nullptr) log_durable(core, region, stages_->now());
  }
  // Does the same for a core whose own time may be ahead.
  void region_durable(CoreId core, std::uint64_t region, Time when) const {
    if (observer_ != nullptr) observer_->region_durable(core, region);
    if (commits_ != nullptr) commits_->durable(core, region, when);
    if (stages_ != nullptr) log_durable(core, region, when);
  }
  void fence_fulfilled(CoreId core, std::uint64_t fence) const {
    if (observer_ != nullptr) observer_->fence_fulfilled(core, fence);
  }
  void stale_load(CoreId core, std::uint64_t region, Line line) const {
    if (observer_ != nullptr) observer_->stale_load(core, region, line);
  }
  void stale_line_reported(Line line) const {
    if (observer_ != nullptr) observer_->stale_line_reported(line);
    if (stages_ == nullptr) return;
    stages_->add({.stage = Stage::kStaleLine, .line = line, .at = {stages_->now()}});
  }
  void rolled_back(CoreId core) const {
    if (observer_ != nullptr) observer_->rolled_back(core);
  }

 private:
  void log_durable(CoreId core, std::uint64_t region, Time when) const {
    stages_->add({.stage = Stage::kRegionDurable, .unit = core, .id = region, .at = {when}});
  }

  ProgramObserver* observer_ = nullptr;
  StageLog* stages_ = nullptr;
  CommitLatencies* commits_ = nullptr;
};

}  // namespace pmemsim
