// Library functions that the pass knows by name.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <optional>

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
  kStrncat,
};

LibraryCall library_call(const llvm::CallBase& call);

// What a library function, or the kernel for it, writes to memory that the program names.
struct LibraryWrite {
  enum class Bytes {
    kResult,       // as many as it returns, none if that is negative
    kResultTimes,  // as many as it returns times an argument
    kPrinted,      // one more than it returns, at most an argument (if there is one)
    kArgument,     // an argument
    kArguments,    // the product of an argument and the next
    kString,       // a string
  };
  static constexpr int kNone = -1;
  int destination;  // an argument; kNone: what is returned
  Bytes bytes;
  int argument = kNone;  // the one that `bytes` means
};
std::optional<LibraryWrite> library_write(const llvm::CallBase& call);

}  // namespace pmemsim::pass
