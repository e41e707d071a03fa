// Finds values that a loop computes from their previous ones in registers alone, in two cycles or
// more.
//
// Examples are x = x * a + b, a hash, a sum of floating-point numbers. This arithmetic limits the
// speed of such a loop, however wide the core is. Each such value is recorded at the head of its
// loop; the records of loads and branches don't show how often it has changed.
//
// - A value whose recurrence contains a load (p = p->next) is not recorded: the load's record shows
//   it, and takes longer.
// - A value that takes one cycle (i = i + 1) is not recorded: a loop of four instructions takes
//   that in any case.
#pragma once

#include <llvm/IR/Module.h>

#include "dependences.hpp"

namespace pmemsim::pass {

PhiSet find_recurrences(const llvm::Module& module, const LoopPhis& loop_phis);

}  // namespace pmemsim::pass
