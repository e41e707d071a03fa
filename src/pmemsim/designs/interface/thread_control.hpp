// What a layer that speculates may do to threads: hold them, and take them back.
//
// For layers that declare kRewind among their interests. Nothing here may be called from within a
// call that comes from a core: schedule an event.
//
//   1  A paused core dispatches and retires nothing. What has been issued completes, and what has
//      retired leaves its store queue.
//   2  A thread that is taken back goes on as it was when its outermost region began, with the
//      mark that begins the region: registers, program counter, what PM holds. The region keeps its
//      number. Branch predictor and caches stay as they are.
//   3  What other threads have stored since to the same bytes stays, now and when the thread stores
//      to them again: theirs came after it in the program, whose order locks decide.
//   4  What a region has taken or given back of locks, and the versions of atomic variables that it
//      has made, have happened. The thread neither waits nor gives anything when it comes by there
//      again: a lock that it held when it was taken back is still its own, one that it gave back is
//      another's. What it still waited for, it waits for anew.
//   5  Volatile memory isn't taken back by value: values in DRAM aren't simulated.
//   6  What a layer has answered the thread by false needn't be resumed; to do so has no effect.
//   7  The atomicity layer sees the region's begin again, and nothing before: hardware logs don't
//      know what to make of that. A choice that takes threads back goes without them: its row needs
//      kRegionsAgain, which they don't give (designs/interface/choice.hpp).
//   8  Fences of a region that were counted are counted anew (ProgramEvents::fence_fulfilled).
//      Statistics count what was executed, twice if it was, but a region once, with the time of
//      its last execution.
//   9  What was predicted of the thread's writes is discarded (Backend::discard_thread): hints and
//      stores of the region come again, and would be predicted from twice.
//  10  A core is simulated ahead of the others while it touches nothing shared (core.run_ahead): so
//      much later, at most, its thread goes on.
#pragma once

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class ThreadControl {
 public:
  // Those that run a thread; the machine may have more.
  virtual std::uint32_t cores() const = 0;

  virtual void pause(CoreId core) = 0;
  virtual void resume(CoreId core) = 0;

  // Is the core inside an outermost region? From when its begin has left the store queue until its
  // end has.
  virtual bool in_region(CoreId core) const = 0;
  // Takes the core's thread, which must be in a region, back to where that began.
  // Ordering::restored is called meanwhile for each store that is taken back.
  virtual void rewind(CoreId core) = 0;

 protected:
  ~ThreadControl() = default;
};

}  // namespace pmemsim
