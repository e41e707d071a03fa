// Library functions that the pass identifies by name.
#pragma once

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <climits>
#include <optional>

namespace pmemsim::pass {

// The pass's treatment of a call of a library function.
enum class LibraryCall {
  kOther,  // the call remains
  // Functions that are replaced, so that the copied bytes are recorded:
  kMemcpy,   // (to, from, bytes), returns `to`
  kMempcpy,  // the same arguments, returns the end
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

// The bytes that a library function, or the kernel for it, writes to memory that the program names.
struct LibraryWrite {
  enum class Bytes {
    kResult,       // the returned number; no bytes if it is negative
    kResultTimes,  // the returned number times an argument
    kPrinted,      // the returned number plus 1, at most an argument (if there is one)
    kArgument,     // the number in an argument
    kArguments,    // the product of an argument and the next
    kString,       // a string
  };
  static constexpr int kNone = -1;
  int destination;  // an argument; kNone: the returned pointer
  Bytes bytes;
  int argument = kNone;  // the argument that `bytes` means
};
std::optional<LibraryWrite> library_write(const llvm::CallBase& call);

// True if the module calls functions that send data to sockets, pipes or files. In such a module,
// the text that `snprintf` and the like make may be a part of what is sent.
bool sends_data(const llvm::Module& module);

// True if the module makes streams of descriptors, which may be sockets or pipes.
bool opens_streams(const llvm::Module& module);
// The arguments of a library function that puts text, or a copy of bytes, into a stream.
struct StreamWrite {
  static constexpr unsigned kNone = UINT_MAX;
  unsigned stream;
  unsigned bytes = kNone;  // kNone: text of all arguments
};
std::optional<StreamWrite> stream_write(const llvm::CallBase& call);

// True for a call of OpenMP's library that is a full fence: the flush construct.
bool is_openmp_flush(const llvm::CallBase& call);

// True for calls of libatomic's functions: the compiler calls them for atomic objects that the
// processor's instructions can't access at once.
bool is_atomic_function(const llvm::CallBase& call);

}  // namespace pmemsim::pass
