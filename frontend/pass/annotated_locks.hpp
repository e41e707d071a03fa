// Reports locks that the program implements with atomic variables to the recorder, by the
// annotations of their functions (pm.h: PM_ACQUIRES, PM_TRY_ACQUIRES, PM_RELEASES). No compiler can
// find these locks by itself. Where PMEM-Spec's compiler inserts spec-assign and spec-revoke, this
// pass inserts a call of the runtime:
//
// 1. PM_ACQUIRES: the call is before each return, when the thread holds the lock. PM_TRY_ACQUIRES:
//    the thread holds the lock if the return value isn't zero. After an exception, the thread
//    doesn't hold the lock.
// 2. PM_RELEASES: the call is at the function's entry, before any instruction that releases the
//    lock.
// 3. The lock is the object that the first pointer parameter points to. In a method, that is
//    `this`.
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
