// The control that a speculating layer has over threads: it can pause them, and roll them back.
//
// Only layers that declare kRewind among their interests may use this interface. Its functions must
// not be called from within a call that a core makes: schedule an event instead.
//
//   1  A paused core dispatches and retires nothing. Issued instructions complete, and retired
//      stores leave the store queue.
//   2  A thread that is rolled back continues with the mark that begins its outermost region. Its
//      registers, its program counter and the contents of PM are restored to the time of that mark.
//      The region keeps its number. Branch predictor and caches are unchanged.
//   3  If another thread has stored to the same bytes later, that store remains in effect, both at
//      the rollback and when the thread stores to these bytes again. The program's locks order it
//      after the thread's stores.
//   4  A region's lock operations, and its updates of atomic variables, are not undone. When the
//      thread reaches them again, it neither stalls there nor releases anything. It still owns the
//      locks that it held at the rollback; a lock that it had released may belong to another
//      thread. Only an operation at which the thread stalled at the rollback stalls again.
//   5  Values in volatile memory aren't rolled back: values in DRAM aren't simulated.
//   6  If a layer has answered a request of the thread with false before the rollback, it need not
//      call `resume`; the call has no effect.
//   7  The atomicity layer is called for the region's begin again, without a call that reports the
//      rollback. Hardware logs can't handle that. An implementation that rolls threads back
//      therefore excludes them: its row needs kRegionsAgain, which their rows don't give
//      (designs/interface/choice.hpp).
//   8  Fences of a region that were counted are counted again (ProgramEvents::fence_fulfilled).
//      Statistics count an instruction as often as it is executed. They count a region once, with
//      the time of its last execution.
//   9  Predictions of the thread's writes are discarded (ResultBuffer::discard_thread()), because
//      the region's hints and stores occur again and lead to the same predictions.
//  10  A core may be simulated ahead of the others while it accesses no shared state
//      (core.run_ahead). A pause or rollback may therefore take effect later, by at most that
//      time.
#pragma once

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class ThreadControl {
 public:
  // Returns the number of cores that run a thread; the machine may have more.
  virtual std::uint32_t cores() const = 0;

  virtual void pause(CoreId core) = 0;
  virtual void resume(CoreId core) = 0;

  // True if the core is inside an outermost region. This is so from the time when the region's
  // begin leaves the store queue until its end leaves it.
  virtual bool in_region(CoreId core) const = 0;
  // Rolls the core's thread, which must be in a region, back to the region's begin. Calls
  // Ordering::restored for each store that is undone.
  virtual void rewind(CoreId core) = 0;

 protected:
  ~ThreadControl() = default;
};

}  // namespace pmemsim
