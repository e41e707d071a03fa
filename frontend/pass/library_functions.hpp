// Library functions that the pass knows by name.
#pragma once

#include <llvm/IR/InstrTypes.h>

namespace pmemsim::pass {

// What the pass does at a call of a library function.
enum class LibraryCall {
  kOther,     // nothing is known: it may well be instrumented
  kExternal,  // not instrumented, and never calls back into the program
  // Replaced, so that the bytes copied are recorded:
  kMemcpy,   // (to, from, bytes), returns `to`
  kMempcpy,  // the same, returns the end
  kMemmove,
  kBcopy,  // (from, to, bytes)
  kMemset,
  kBzero,  // (to, bytes)
  kStrcpy,
  kStpcpy,
  kStrcat,
  kStrncpy,
};

LibraryCall library_call(const llvm::CallBase& call);

}  // namespace pmemsim::pass
