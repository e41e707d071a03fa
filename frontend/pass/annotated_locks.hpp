// Reports locks that the program implements with atomic variables to the recorder, by the
// annotations of their functions (pm.h: PM_ACQUIRES, PM_TRY_ACQUIRES, PM_RELEASES). No compiler can
// find these locks by itself. PMEM-Spec's compiler has spec-assign and spec-revoke there; this pass
// inserts a call of the runtime:
//
// 1. In a function that acquires, before each return: it holds the lock then. A function that tries
//    holds it if its return value isn't zero. A function that exits by an exception doesn't hold
//    it.
// 2. In a function that releases, at its entry: everything that releases the lock is behind it.
// 3. The lock is the object that the first pointer parameter points to; in a method, the object.
//
// The pass runs before all optimisations: inlined functions have no annotations, but their calls
// remain, and no visible access moves across a call. The calls are no instructions of the program
// (machine_counts.cpp).
#pragma once

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

// The prefix of all runtime functions that report locks.
inline constexpr llvm::StringLiteral kLockFunctions = "pmemsim_rt_lock_";

// Returns true if the module was changed. An annotation that is impossible is a compile error.
bool record_annotated_locks(llvm::Module& module);

}  // namespace pmemsim::pass
