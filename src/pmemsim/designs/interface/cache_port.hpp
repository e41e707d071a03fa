// What a layer asks of the caches, which know no layer by name.
#pragma once

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

class CachePort {
 public:
  // A flush leaves the core at `when`. `dirty`: the core's own copy was modified. What is written
  // is the line's newest value when the flush arrives: what others have stored to it meanwhile must
  // not be undone. `acknowledge` is called at the core once all that was stored to the line before
  // is persistent: if it is clean everywhere, after the writes of it that are under way.
  virtual void flush(CoreId core, Line line, bool invalidate, bool dirty, Time when,
                     Completion acknowledge) = 0;

  // A non-temporal store of these bytes has left the store queue at `when`, to a write-combining
  // buffer. False if it has joined one whose `acknowledge` is still to come, and stands for this
  // store, too.
  virtual bool combine(CoreId core, Line line, ByteMask bytes, Time when,
                       Completion acknowledge) = 0;

  // A design has sent the line's newest value to memory by itself: all copies are clean.
  virtual void mark_clean(Line line) = 0;

  // All copies of the line are given up, a modified one as if the shared cache had evicted it.
  // False if the line is on its way from memory: it will be there again.
  virtual bool drop(Line line) = 0;

  // How long a request takes from the shared cache to the controller, a miss or a write-back.
  virtual Picoseconds way_out() const = 0;
  // How long a write that passes the caches takes from a core to the controller, and an
  // acknowledgement back.
  virtual Picoseconds way_down(CoreId core) const = 0;
  virtual Picoseconds way_back() const = 0;

 protected:
  ~CachePort() = default;
};

}  // namespace pmemsim
