// The operations in execution at each crash time (history.hpp). For a crash at that time, the
// images without losses whose answers are correct are:
//
//   1  An operation is in execution from the crash time of its first visible step until right
//      before its last visible step. (At other times, the thread may be outside of the operation.)
//      If it stores to PM, and has waited before its first such store for a lock, condition,
//      barrier or thread, its first step is the one that ended the last of these waits. Another
//      thread can't complete it before: such an operation stores nothing to PM itself.
//   2  If one operation is in execution, and no other thread stores anything from its first to its
//      last step: the image right before its first step, and the image of its last step.
//   3  If no operation is in execution: the image at the end of the last operation, and the image
//      after each store since then, because stores outside of operations guarantee nothing. Usually
//      this is one image, which contains all operations that have ended.
//   4  If no operation has begun: also a file of zeros.
//   5  If several operations are in execution, or another thread stores something during the only
//      one: the images after each store, from right before the first of these operations to the end
//      of the last one. Also all images of the crash time that contain some of these operations as
//      a whole and nothing of the others. If there are more than six, such an image contains the
//      seventh and all later ones.
//
// An Interval is a range of crash times with the same operations in execution. The end of an
// operation starts a new interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/answers/history.hpp"
#include "pmemsim/checks/answers/operations.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::answers {

struct TimedOperation {
  CallOrRegion what;
  std::uint64_t number;  // Number among the operations of the same name, from 1, by start
  std::uint64_t first_step, last_step;
};

struct Interval {
  std::uint64_t first, last;           // Crash times
  std::vector<std::size_t> executing;  // Indices of operations
  std::size_t ended;                   // Number of operations that have ended
  bool set_up;                         // No operation has begun
};

class Intervals {
 public:
  // Reads the recording. Throws trace::TraceError.
  Intervals(const trace::TraceFile& trace, const std::vector<CallOrRegion>& operations,
            std::uint64_t steps);

  // Returns the operations with visible steps, in the order of their starts.
  const std::vector<TimedOperation>& operations() const { return operations_; }
  const std::vector<Interval>& list() const { return intervals_; }
  // Returns the index of the interval that contains this crash time.
  std::size_t at(std::uint64_t crash_time) const;

 private:
  void find_steps(const trace::TraceFile& trace, const std::vector<CallOrRegion>& operations);
  void number_each();
  void cut(std::uint64_t steps);

  std::vector<TimedOperation> operations_;
  std::vector<Interval> intervals_;
};

}  // namespace pmemsim::answers
