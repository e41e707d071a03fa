// A gate: a part of the backend that may delay a write before it is sent to the queues.
//
// A gate starts on predicted writes, too: prepare() passes the prediction, and write() the prepared
// results that the write may use. A prediction may change nothing but time.
#pragma once

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

class WriteObserver;

class WriteGate {
 public:
  virtual ~WriteGate() = default;
  // Registers an observer of the time that writes spend waiting here.
  virtual void observe(WriteObserver*) {}
  // True if the gate would start on a prediction at once. Otherwise `free` is called once, when it
  // can start.
  virtual bool starts_at_once(Completion /*free*/) { return true; }

  // Starts the gate on a predicted write, as far as the prediction's inputs are known. Called again
  // with the same identity when more inputs are known, or bytes of the data have been replaced.
  virtual void prepare(PreparedId, const Prediction&) {}
  // True if the gate itself recomputes results that are no longer valid.
  virtual bool keeps_outdated() const { return false; }
  // Discards the results. Called once for each identity, regardless of its outcome.
  virtual void discard(PreparedId) {}

  // Called when a write has reached the controller. Returns true if the gate doesn't delay the
  // write. Otherwise it calls `done` once, after this call has returned, unless the write is
  // dropped first. `prepared`: results that match the write. They may be discarded before the write
  // is sent.
  virtual bool write(const Write&, const Prepared& prepared, Completion done) = 0;
  // True if a newer write may coalesce with a write of its line that is still held.
  virtual bool may_coalesce(const Write& /*newer*/) const { return true; }
  // Called when a newer write has coalesced with the write that has this `done`. `both`: the
  // combined write. The gate may already have called `done` for the held write.
  virtual void coalesced(const Write& /*both*/, const Completion& /*done*/) {}
  // Called when a write that is still held has been dropped: `done` must not be called any more.
  virtual void forget(const Completion& /*done*/) {}
};

}  // namespace pmemsim
