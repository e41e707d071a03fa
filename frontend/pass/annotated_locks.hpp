// Tells the recorder of the locks that the program has made itself of atomic variables, as their
// functions' annotations say (pm.h: PM_ACQUIRES, PM_TRY_ACQUIRES, PM_RELEASES), for no compiler can
// find that out. Where PMEM-Spec's compiler has spec-assign and spec-revoke, a call of the runtime
// comes to stand:
//
// 1. In a function that acquires, before each return: it has the lock then. One that tries has it
//    if what it returns isn't zero. One that leaves by an exception hasn't.
// 2. In a function that releases, at its entry: all that gives the lock back comes later.
// 3. The lock is what the first pointer parameter points to; of a method, the object.
//
// This is done before anything is optimised: inlined functions have no annotations, but their
// calls, past which nothing moves that others may see. They are no instructions of the program
// (machine_counts.cpp).
#pragma once

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

// All functions that tell of locks begin so.
inline constexpr llvm::StringLiteral kLockFunctions = "pmemsim_rt_lock_";

// Returns whether the module was changed. An annotation that can't be is a compile error.
bool tell_of_annotated_locks(llvm::Module& module);

}  // namespace pmemsim::pass
