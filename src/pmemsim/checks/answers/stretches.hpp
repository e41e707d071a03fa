// Which operations are being executed when, and what a crash may leave then: the images in which
// nothing is lost whose answers are right.
//
//   1  An operation is being executed at the moments from its first visible step on until before
//      its last one. (Before its first and behind its last one the thread may stand outside of it.)
//   2  While one operation is being executed, and no other thread stores anything from its first
//      step to its last one: the image right before its first step, and that of its last one.
//   3  While none is: those of the moments since the last operation has ended, for what is stored
//      outside of operations promises nothing. Usually that is one image: all operations that have
//      ended are there.
//   4  Before the first operation: also a file of zeros.
//   5  While operations are being executed beside others: the images of all moments from the first
//      of these operations' beginnings to the last one's end; and that of the moment with any of
//      these operations there as a whole, and the others not at all.
//
// A stretch is a number of moments in which the same operations are being executed, without a break
// by one that has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/answers/history.hpp"
#include "pmemsim/checks/answers/operations.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::answers {

struct TimedOperation {
  ProgramOperation what;
  std::uint64_t number;  // among those of the same name, from 1, by their beginnings
  std::uint64_t first_step, last_step;
};

struct Stretch {
  std::uint64_t first, last;           // moments
  std::vector<std::size_t> executing;  // operations, by index
  std::size_t ended;                   // how many have
  bool set_up;                         // no operation has begun
};

class Stretches {
 public:
  // Throws trace::TraceError.
  Stretches(const trace::TraceFile& trace, const std::vector<ProgramOperation>& operations,
            std::uint64_t steps);

  // Those with visible steps, by their beginnings.
  const std::vector<TimedOperation>& operations() const { return operations_; }
  const std::vector<Stretch>& list() const { return stretches_; }
  // The index of the stretch that has this moment.
  std::size_t at(std::uint64_t moment) const;

 private:
  void find_steps(const trace::TraceFile& trace, const std::vector<ProgramOperation>& operations);
  void number_each();
  void cut(std::uint64_t steps);

  std::vector<TimedOperation> operations_;
  std::vector<Stretch> stretches_;
};

}  // namespace pmemsim::answers
