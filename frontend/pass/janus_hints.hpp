// Janus's compiler pass (Janus, 4.5), of `pmemsim-cc --janus-auto`: inserts pre-execution hints
// (pm_pre_ in pm.h) into a program without changes to its source. Natively they do nothing.
//
// 1. A blocking write-back is a flush that a fence follows in the same function (4.5.1, step 1).
//    Flushes: clwb, clflushopt, clflush, as intrinsics or assembly, and pm_flush(). Fences: sfence,
//    mfence, assembly, atomic_thread_fence(), pm_order(), pm_durable(), and pm_log(),
//    pm_log_ranges() and pm_end(), which contain one. In addition, pm_end() writes back, with a
//    fence, the data that its region has declared by pm_log() or pm_log_ranges(), or allocated, in
//    the same function.
// 2. Write-backs in a loop or across functions get no hints (4.5.2). A function that has to be
//    inlined, such as _mm_clwb(), counts as part of its caller.
// 3. Address (step 2): pm_pre_addr() is inserted as near to the function's beginning as the
//    address's computation allows. The computation moves with it (step 3). A load moves only if it
//    provably loads the same value there and can't fault where the program wouldn't. No load passes
//    pm_begin() or pm_end(), so that regions keep what they read.
// 4. Data: the last update of the object must be a store or a copy that dominates the write-back.
//    Then the hint for the value that it assigns is inserted behind the second-last update, as near
//    to it as the value allows (step 3). Every instruction that may write to the object is an
//    update. If the last one is unknown, such as a call, there is no value, and only the address is
//    hinted. (pm.h's functions update nothing, except for pm_root(), pm_open(), pm_read() and
//    pm_write().)
// 5. Both hints are under the condition of the write-back (step 3). Checks whose other paths end in
//    an exception or never return are no conditions.
// 6. A write-back has one object: pm_pre_init(), then its hints (table 2). PRE_DATA is used for
//    data that provably begin with the object's first line, since data alone must be aligned. Other
//    data are announced with their address: by PRE_BOTH, or PRE_BOTH_VAL for a number or pointer. A
//    value of less than 8 bytes uses pm_pre_both_part(), because PRE_BOTH_VAL would announce wrong
//    bytes behind it.
// 7. The program's stores and their order don't change: the inserted calls don't write to the
//    program's memory.
//
// Decisions that the paper leaves open:
//
// 8. The pass runs after the optimiser's first clean-up, before anything is inlined. After
//    inlining, most of a program's write-backs would be in its main loop, where rule 2 excludes
//    them.
// 9. An earlier write-back of the same line would use up the hints, so they are inserted behind the
//    fence of that write-back. Lines count as the same only if their addresses are provably equal.
// 10. If the object has no second-last update, the hint is as near to the function's beginning as
//     the value allows.
// 11. An address hint at the same position as the same lines' data hint is omitted.
// 12. An address hint that nothing separates from its write-back is omitted: it comes too late.
// 13. Hints in the program's own source stay, and so do those of pm.h's library.
// 14. Cost of the hints: their calls and instructions that only they use are no instructions of the
//     program (machine_counts.cpp). Loads are moved, not repeated. The rest of an address is
//     computed again, and counted where a moved load needs it, unless the optimiser finds both
//     equal, as it does from -O1 on. A value that is computed earlier is kept for longer, which can
//     take instructions. Data that are copied from a variable of the function keep it in memory.
#pragma once

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

// Returns true if the module was changed.
bool insert_janus_hints(llvm::Module& module);

}  // namespace pmemsim::pass
