// Pre-execution hints where a profile of the program wants them (--janus-profile of pmemsim-cc),
// beyond Janus, whose pass (janus_hints.hpp) hints at what it can prove, and so never at what a
// loop or another function writes back.
//
//   1  The profile has source lines, as PATH:LINE: those whose stores are the last ones to lines
//      that are then written back without a hint; `pmemsim lint-hints --profile` writes it. Of two
//      names of a file one may be the other's end, since compilers shorten them by their folder.
//   2  Behind each store and each copy there, pm_pre_both() announces what has been stored, as it
//      is then, on an object of its own. Other bytes of the same lines count as they are then, too.
//   3  Nothing has to be proved: a hint that turns out wrong costs time and nothing else.
//   4  Variables of the function are in no PM. Of other memory, hints find out when they run.
//   5  The program's stores stay as they are, in their order: what the optimiser has left of them
//      gets hints, as the profile has seen them.
#pragma once

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

// Returns whether the module was changed. A file that can't be read, or has other lines, is an
// error of the compilation.
bool insert_profile_hints(llvm::Module& module, llvm::StringRef profile);

}  // namespace pmemsim::pass
