// The control that a speculating layer has over threads: it can pause them, and roll them back.
//
// For layers that declare kRewind among their interests. Nothing here may be called from within a
// call that a core makes: schedule an event instead.
//
//   1  A paused core dispatches and retires nothing. Issued instructions complete, and retired
//      stores leave the store queue.
//   2  A thread that is rolled back continues with the mark that begins its outermost region. Its
//      registers, its program counter and the contents of PM are those of that time. The region
//      keeps its number. Branch predictor and caches are unchanged.
//   3  Later stores of other threads to the same bytes stay, now and when the thread stores to
//      these bytes again. In the program, whose order locks decide, they follow the thread's
//      stores.
//   4  A region's lock operations, and the versions of atomic variables that it has made, are not
//      undone. When the thread reaches them again, it neither stalls there nor releases anything. A
//      lock that it held at the rollback is still its own; a lock that it had released belongs to
//      another thread. The thread stalls again only where it still stalled at the rollback.
//   5  Values in volatile memory aren't rolled back: values in DRAM aren't simulated.
//   6  A request of the thread that a layer has answered with false needn't be resumed after a
//      rollback; a resume has no effect.
//   7  The atomicity layer sees the region's begin again, and no event before it: hardware logs
//      can't handle that. A choice that rolls threads back can't be combined with them: its row
//      needs kRegionsAgain, which they don't give (designs/interface/choice.hpp).
//   8  Fences of a region that were counted are counted again (ProgramEvents::fence_fulfilled).
//      Statistics count executed instructions, twice if they were executed twice. They count a
//      region once, with the time of its last execution.
//   9  Predictions of the thread's writes are discarded (Backend::discard_thread): the region's
//      hints and stores occur again, and would be predicted from twice.
//  10  A core is simulated ahead of the others while it touches nothing shared (core.run_ahead).
//      Its thread continues later by at most that time.
#pragma once

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class ThreadControl {
 public:
  // Returns the number of cores that run a thread; the machine may have more.
  virtual std::uint32_t cores() const = 0;

  virtual void pause(CoreId core) = 0;
  virtual void resume(CoreId core) = 0;

  // True if the core is inside an outermost region: from the time the region's begin has left the
  // store queue until its end has.
  virtual bool in_region(CoreId core) const = 0;
  // Rolls the core's thread, which must be in a region, back to the region's begin. Calls
  // Ordering::restored for each store that is undone.
  virtual void rewind(CoreId core) = 0;

 protected:
  ~ThreadControl() = default;
};

}  // namespace pmemsim
