// The shared interface of the caches that a layer uses. The caches know no layer by name.
#pragma once

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

class CachePort {
 public:
  // Flushes a line; the flush leaves the core at `when`.
  // `dirty`: the core's own copy was modified. The line's newest value at the flush's arrival is
  // written, so that later stores of other cores are not undone.
  // `acknowledge` is called at the core once all earlier stores to the line are persistent. If the
  // line is clean everywhere, that is after its writes that are in flight.
  virtual void flush(CoreId core, Line line, bool invalidate, bool dirty, Time when,
                     Completion acknowledge) = 0;

  // Puts these bytes of a non-temporal store, which left the store queue at `when`, into a
  // write-combining buffer. False if they coalesce with a buffer whose `acknowledge` is still
  // pending and then covers this store, too.
  virtual bool combine(CoreId core, Line line, ByteMask bytes, Time when,
                       Completion acknowledge) = 0;

  // Marks all copies of the line clean: a design has sent the line's newest value to memory itself.
  virtual void mark_clean(Line line) = 0;

  // Drops all copies of the line, a modified one as if the shared cache had evicted it. False if a
  // fetch of the line from memory is in flight, so that the caches will hold it again.
  virtual bool drop(Line line) = 0;

  // The latency of a request (a miss or a write-back) from the shared cache to the controller.
  virtual Picoseconds shared_to_controller() const = 0;
  // The latency of a write that passes the caches, from a core to the controller, and the latency
  // of its acknowledgement back.
  virtual Picoseconds core_to_controller(CoreId core) const = 0;
  virtual Picoseconds controller_to_core() const = 0;

 protected:
  ~CachePort() = default;
};

}  // namespace pmemsim
