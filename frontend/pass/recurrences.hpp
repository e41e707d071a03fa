// Which values a loop computes from their last ones in registers alone, in two cycles or more.
//
// Such a loop goes round no faster than that arithmetic, however wide the core is: x = x * a + b, a
// hash, a sum of floating-point numbers. Each such value is recorded at the head of its loop; what
// loads and branches record doesn't say how often it has changed.
//
// - Not recorded is what a load closes the circle of (p = p->next): the load says it, and takes
//   longer.
// - Not recorded is what takes one cycle (i = i + 1): a loop of four instructions takes that
// anyway.
#pragma once

#include <llvm/IR/Module.h>

#include "dependences.hpp"

namespace pmemsim::pass {

PhiSet find_recurrences(const llvm::Module& module, const LoopPhis& loop_phis);

}  // namespace pmemsim::pass
