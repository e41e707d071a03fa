// Splits branches of which the code generator makes several.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Function.h>

#include "machine_counts.hpp"

namespace pmemsim::pass {

// Replaces each branch on several conditions, connected by "and" or by "or", by one branch for each
// condition, where the code generator has done so. True if there was one: the counts are then those
// of the old branches.
bool split_conditions(llvm::ArrayRef<llvm::Function*> functions, const MachineCounts& counts);

}  // namespace pmemsim::pass
