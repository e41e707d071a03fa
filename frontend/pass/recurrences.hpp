// Finds recurrences: values that a loop computes from their previous values, in registers alone and
// in at least two cycles.
//
// Examples are x = x * a + b, a hash, and a sum of floating-point numbers. This arithmetic limits
// the speed of such a loop, however wide the core is. Each such value is recorded at the head of
// its loop, because the records of loads and branches don't show how often it has changed.
//
// - A value whose recurrence contains a load (p = p->next) is not recorded: the record of the load
//   shows the recurrence, and the load takes longer than the arithmetic.
// - A value that takes one cycle (i = i + 1) is not recorded: an iteration of four instructions
//   takes one cycle in any case.
#pragma once

#include <llvm/IR/Module.h>

#include "dependences.hpp"

namespace pmemsim::pass {

PhiSet find_recurrences(const llvm::Module& module, const LoopPhis& loop_phis);

}  // namespace pmemsim::pass
