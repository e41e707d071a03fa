// Janus's compiler pass (Janus, 4.5), of `pmemsim-cc --janus-auto`: gives the program pre-execution
// hints (pm_pre_ in pm.h) without its doing. Natively they do nothing.
//
// 1. A blocking write-back is a flush that a fence follows in the same function (4.5.1, step 1).
//    Flushes: clwb, clflushopt, clflush, as intrinsics or assembly, and pm_flush(). Fences: sfence,
//    mfence, assembly, atomic_thread_fence(), pm_order(), pm_durable(), and pm_log(),
//    pm_log_ranges() and pm_end(), which contain one. Besides, pm_end() writes back with a fence
//    what its region has declared by pm_log() or pm_log_ranges() or allocated in the same function.
// 2. None in a loop, none across functions (4.5.2). Functions that have to be inlined belong to the
//    function that calls them: _mm_clwb() is one.
// 3. Address (step 2): as near to the function's beginning as what computes it allows, there comes
//    pm_pre_addr(). What computes it moves there with it (step 3); a load only if it provably loads
//    the same there and can't fault where the program wouldn't. None passes pm_begin() or pm_end(),
//    so that regions keep what they read.
// 4. Data: if a store or a copy is the last update of the object and dominates the write-back, then
//    behind the second-last one, as near to it as the value allows, comes the value that the last
//    one assigns (step 3). Whatever may write to the object is an update; of one that can't be
//    told, such as a call, there is no value, and then the address stays alone. (pm.h's functions
//    update nothing, except for pm_root(), pm_open(), pm_read() and pm_write().)
// 5. Both stay under the condition under which the write-back is (step 3). Checks whose other ways
//    end in an exception or never return are none.
// 6. A write-back has one object: pm_pre_init(), then its hints (table 2). PRE_DATA is for data
//    that are known to begin with the object's first line, since data alone must be aligned. Others
//    have their address: PRE_BOTH; PRE_BOTH_VAL of a number or pointer, or of one with less than
//    8 bytes pm_pre_both_part(), because more would be wrong.
// 7. Stores stay as they are, in their order: what is inserted are calls that change nothing.
//
// What the paper leaves open
//
// 8. The place in the pipeline: after the first clean-up, before anything is inlined. Later, whole
//    programs were in their main loop, where rule 2 excludes them.
// 9. An earlier write-back of the same line would use up the hints: they come behind its fence.
//    That goes for lines that are provably the same (equal addresses); others are taken to differ.
// 10. No second-last update: as near to the function's beginning as the value allows.
// 11. An address hint that would stand where the same lines' data hint does is left out.
// 12. So is one that nothing separates from its write-back: it comes too late.
// 13. Hints that the program gives itself stay, and so do those of pm.h's library.
// 14. What the hints cost: their calls and what only they use are no instructions of the program
//     (machine_counts.cpp). Loads are moved, not repeated; the rest of an address is computed
//     again, and counted where a moved load needs it, unless the optimiser finds both equal, as it
//     does from -O1 on. A value that is computed earlier is kept for longer, which can take
//     instructions. What is copied from a variable of the function keeps that variable in memory.
#pragma once

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

// Returns whether the module was changed.
bool insert_janus_hints(llvm::Module& module);

}  // namespace pmemsim::pass
