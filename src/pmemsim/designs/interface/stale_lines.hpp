// Which lines the caches hold otherwise than programs have stored there.
//
// Where PM gets its data past the caches, a line that they have dropped may be read again before
// all that was stored to it has arrived. A recording can't go on with what it would have read then;
// so this keeps, of each such line, the bytes that the caches hold, and tells whether a load has
// read some that aren't the newest visible ones.
//
//   1  A read of a line has the bytes that PM holds when it reaches the controller. What arrives
//      later isn't in it, as if it were decided then.
//   2  A store makes its own bytes right, in all caches: they are coherent.
//   3  A line that the caches give up is forgotten when it is read again.
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

  // The line is read from PM, which holds these bytes of it. True if they aren't the newest.
  bool read(Line line, const LineData& found) {
    const bool stale = found != newest(line);
    if (stale) {
      held_[line] = found;
    } else if (held_.contains(line)) {
      held_.erase(line);
    }
    return stale;
  }
  // These bytes of the line are newest in the caches, too.
  void stored(Line line, ByteMask bytes) {
    LineData* const held = held_.size() == 0 ? nullptr : held_.find(line);
    if (held == nullptr) return;
    const LineData now = newest(line);
    take_bytes(*held, now, bytes);
    if (*held == now) held_.erase(line);
  }
  // Reports it if so. `region`: 0 if the design can't take it back.
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
  void given_up(Line line) {
    if (held_.contains(line)) held_.erase(line);
  }
  // That have read stale bytes.
  std::uint64_t loads() const { return loads_; }

 private:
  LineData newest(Line line) const { return context_->pm_space.newest().read(line); }

  std::optional<LayerContext> context_;
  LineMap<LineData> held_;
  std::uint64_t loads_ = 0;
};

}  // namespace pmemsim
