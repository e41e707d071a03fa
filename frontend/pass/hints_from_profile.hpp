// Inserts pre-execution hints where a profile of the program requests them (--janus-profile of
// pmemsim-cc). Janus's own pass (janus_hints.hpp) inserts only hints that it proves to be correct.
// So it inserts none for data that a loop or another function writes back.
//
//   1  The profile (from `pmemsim lint-hints --profile`) lists source lines, as PATH:LINE. The
//      stores of such a source line are the last stores to cache lines that are then written back
//      without a hint. Two paths name the same file if one is a suffix of the other, since
//      compilers may omit leading folders.
//   2  Behind each store and each copy of these source lines, the pass inserts pm_pre_both(), on a
//      hint object of its own. It announces the stored bytes with their current values. The other
//      bytes of the same cache lines also count with their current values.
//   3  Nothing has to be proved: a wrong hint costs time and nothing else.
//   4  Local variables are not in PM and get no hints. For other memory, a hint checks at run time
//      whether the memory is PM.
//   5  The program's stores and their order don't change. Only stores that remain after
//      optimisation get hints, since the profile contains only these.
#pragma once

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

// Returns true if the module was changed. A profile that can't be read, or that has lines of any
// other form, is a compile error.
bool insert_hints_from_profile(llvm::Module& module, llvm::StringRef profile);

}  // namespace pmemsim::pass
