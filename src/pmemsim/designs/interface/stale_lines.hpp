// The lines that the caches hold with contents older than the newest visible stores.
//
// If PM receives its data past the caches, a line that the caches have dropped may be read again
// before all stores to it have arrived. The caches then contain stale bytes. A recording can't
// continue with a stale value, so loads return the newest value in the simulation. This class
// records the stale bytes that the caches contain, and reports each load that would have read them.
//
//   1  A read of a line returns the bytes that PM holds when the read reaches the controller. Data
//      that arrive later have no effect on it.
//   2  A store makes its own bytes correct in all caches: they are coherent.
//   3  When the caches evict a line, its bytes stay recorded until the line is read again. A design
//      calls forget() when it knows that no cache holds them: a buffer of its own answers the read
//      (DPO), or the line has been dropped from the caches (PMEM-Spec).
#pragma once

#include <cstdint>
#include <optional>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/interface/store.hpp"

namespace pmemsim {

class StaleLines {
 public:
  void connect(const LayerContext& context) { context_.emplace(context); }

  // Records that PM has answered a read of the line with `found`. Returns true if these bytes are
  // stale.
  bool read(Line line, const LineData& found) {
    const bool stale = found != newest(line);
    if (stale) {
      held_[line] = found;
    } else if (held_.contains(line)) {
      held_.erase(line);
    }
    return stale;
  }
  // Records a store to these bytes, which makes them correct in all caches (rule 2).
  void stored(Line line, ByteMask bytes) {
    LineData* const held = held_.size() == 0 ? nullptr : held_.find(line);
    if (held == nullptr) return;
    const LineData now = newest(line);
    take_bytes(*held, now, bytes);
    if (*held == now) held_.erase(line);
  }
  // Reports a load that has read stale bytes, and returns true for it. `region`: the load's region
  // if the design can roll it back, else 0.
  bool loaded(const Load& load, std::uint64_t region) {
    if (held_.size() == 0 || load.forwarded) return false;
    const LineData* const held = held_.find(load.line());
    if (held == nullptr) return false;
    LineData read = newest(load.line());
    const LineData now = read;
    take_bytes(read, *held, load.bytes());
    if (read == now) return false;
    ++loads_;
    context_->program_events.stale_load(load.core, region, load.line());
    return true;
  }
  void forget(Line line) {
    if (held_.contains(line)) held_.erase(line);
  }
  // Returns the number of loads that have read stale bytes.
  std::uint64_t loads() const { return loads_; }

 private:
  LineData newest(Line line) const { return context_->pm_space.newest().read(line); }

  std::optional<LayerContext> context_;
  LineMap<LineData> held_;
  std::uint64_t loads_ = 0;
};

}  // namespace pmemsim
