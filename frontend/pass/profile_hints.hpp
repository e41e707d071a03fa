// Inserts pre-execution hints where a profile of the program requests them (--janus-profile of
// pmemsim-cc). Janus's own pass (janus_hints.hpp) inserts only hints that it can prove, and so none
// for data that a loop or another function writes back.
//
//   1  The profile (from `pmemsim lint-hints --profile`) has source lines, as PATH:LINE. Their
//      stores are the last ones to cache lines that are then written back without a hint. Either of
//      two names of a file may be the other's end, since compilers shorten them by their folder.
//   2  Behind each store and each copy there, pm_pre_both() announces the stored bytes with their
//      value at that time, on an object of its own. Other bytes of the same cache lines also count
//      with their value at that time.
//   3  Nothing has to be proved: a wrong hint costs time and nothing else.
//   4  Variables of the function are not in PM. For other memory, hints check this when they run.
//   5  The program's stores and their order don't change. The stores that the optimiser has left
//      get hints, as the profile has seen them.
#pragma once

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

// Returns true if the module was changed. A file that can't be read, or has other lines, is a
// compile error.
bool insert_profile_hints(llvm::Module& module, llvm::StringRef profile);

}  // namespace pmemsim::pass
