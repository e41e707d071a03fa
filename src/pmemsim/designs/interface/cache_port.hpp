// The interface through which a layer uses the caches. No cache depends on a particular layer.
#pragma once

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

class CachePort {
 public:
  // Flushes a line; the flush leaves the core at `when`.
  // `dirty`: the core's own copy was modified, so there is something to write. The flush writes the
  // value that the line has when the flush arrives, not the value of the core's copy. So later
  // stores of other cores are not undone.
  // `acknowledge` is called at the core once all earlier stores to the line are persistent. If all
  // copies are clean, the flush writes nothing. It is acknowledged when the line's earlier
  // write-backs (flushes and evictions) that are in flight have persisted.
  virtual void flush(CoreId core, Line line, bool invalidate, bool dirty, Time when,
                     Completion acknowledge) = 0;

  // Puts these bytes of a non-temporal store, which left the store queue at `when`, into a
  // write-combining buffer. True if this opens a buffer, whose `acknowledge` will be called. False
  // if the bytes coalesce with an open buffer: the `acknowledge` of that buffer covers this store,
  // too.
  virtual bool combine(CoreId core, Line line, ByteMask bytes, Time when,
                       Completion acknowledge) = 0;

  // Marks all copies of the line clean, because a layer itself has sent the line's newest value to
  // memory.
  virtual void mark_clean(Line line) = 0;

  // Drops all copies of the line, as if the shared cache evicted it. Returns false, and drops
  // nothing, if a fetch of the line from memory is in flight: the caches will hold the line again.
  virtual bool drop(Line line) = 0;

  // The latency of a request (a miss or a write-back) from the shared cache to the controller.
  virtual Picoseconds shared_to_controller() const = 0;
  // The latency of a write from a core to the controller, past the caches.
  virtual Picoseconds core_to_controller(CoreId core) const = 0;
  // The latency of an acknowledgement from the controller to a core.
  virtual Picoseconds controller_to_core() const = 0;

 protected:
  ~CachePort() = default;
};

}  // namespace pmemsim
