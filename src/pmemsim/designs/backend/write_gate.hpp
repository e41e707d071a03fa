// What may keep a write from going to the queues.
//
// A gate starts on predicted writes, too: prepare() shows what is expected to be written, and
// write() what of this it may use. Nothing may follow from a prediction but time.
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
  // Would it start on a prediction at once? If not, `free` is called once, when it would.
  virtual bool starts_at_once(Completion /*free*/) { return true; }

  // A write is expected: start on it, as far as the prediction goes. Called again with the same
  // identity when more is known of it, or bytes of its data have been replaced.
  virtual void prepare(PreparedId, const Prediction&) {}
  // True if it replaces results that no longer hold by itself.
  virtual bool keeps_outdated() const { return false; }
  // The results aren't needed any more. Once for each identity, whatever has become of it.
  virtual void discard(PreparedId) {}

  // A write has reached the controller. True: nothing to do before it may go to the queues.
  // Otherwise `done` will be called once, not from within, unless the write is dropped first.
  // `prepared`: results that fit the write, until they are discarded, which may be before it goes
  // on.
  virtual bool write(const Write&, const Prepared& prepared, Completion done) = 0;
  // A write has arrived for a line that another one is still held for. May that one take its data
  // along?
  virtual bool may_bring(const Write& /*newer*/) const { return true; }
  // It does: the write that `done` is waited for, if it still is, holds that now.
  virtual void brings(const Write& /*both*/, const Completion& /*done*/) {}
  // A write that is still held has been dropped: `done` must not be called any more.
  virtual void forget(const Completion& /*done*/) {}
};

}  // namespace pmemsim
