#include "library_functions.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Function.h>

namespace pmemsim::pass {
namespace {

using llvm::StringRef;

LibraryCall copying_function(StringRef name) {
  return llvm::StringSwitch<LibraryCall>(name)
      .Cases("memcpy", "__memcpy_chk", LibraryCall::kMemcpy)
      .Cases("mempcpy", "__mempcpy", "__mempcpy_chk", LibraryCall::kMempcpy)
      .Cases("memmove", "__memmove_chk", LibraryCall::kMemmove)
      .Case("bcopy", LibraryCall::kBcopy)
      .Cases("memset", "__memset_chk", LibraryCall::kMemset)
      .Cases("bzero", "explicit_bzero", LibraryCall::kBzero)
      .Cases("strcpy", "__strcpy_chk", LibraryCall::kStrcpy)
      .Cases("stpcpy", "__stpcpy_chk", LibraryCall::kStpcpy)
      .Cases("strcat", "__strcat_chk", LibraryCall::kStrcat)
      .Cases("strncpy", "__strncpy_chk", LibraryCall::kStrncpy)
      .Cases("strncat", "__strncat_chk", LibraryCall::kStrncat)
      .Default(LibraryCall::kOther);
}

// A program's own function may have the name of a library function; its signature then differs.
bool has_signature_of(LibraryCall call, const llvm::Function& function) {
  const llvm::FunctionType& type = *function.getFunctionType();
  auto pointer = [&](unsigned i) {
    return type.getNumParams() > i && type.getParamType(i)->isPointerTy();
  };
  auto integer = [&](unsigned i) {
    return type.getNumParams() > i && type.getParamType(i)->isIntegerTy();
  };
  switch (call) {
    case LibraryCall::kMemcpy:
    case LibraryCall::kMempcpy:
    case LibraryCall::kMemmove:
    case LibraryCall::kBcopy:
    case LibraryCall::kStrncpy:
    case LibraryCall::kStrncat:
      return pointer(0) && pointer(1) && integer(2);
    case LibraryCall::kMemset:
      return pointer(0) && integer(1) && integer(2);
    case LibraryCall::kBzero:
      return pointer(0) && integer(1);
    case LibraryCall::kStrcpy:
    case LibraryCall::kStpcpy:
    case LibraryCall::kStrcat:
      return pointer(0) && pointer(1);
    case LibraryCall::kOther:
      break;
  }
  return false;
}

}  // namespace

std::optional<LibraryWrite> library_write(const llvm::CallBase& call) {
  using Write = std::optional<LibraryWrite>;
  using Bytes = LibraryWrite::Bytes;
  constexpr int kResult = LibraryWrite::kNone;
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return {};
  const Write write =
      llvm::StringSwitch<Write>(callee->getName())
          .Cases("read", "pread", "pread64", "__read_chk", LibraryWrite{1, Bytes::kResult})
          .Cases("recv", "recvfrom", "__recv_chk", LibraryWrite{1, Bytes::kResult})
          .Case("getrandom", LibraryWrite{0, Bytes::kResult})
          .Cases("fread", "fread_unlocked", LibraryWrite{0, Bytes::kResultTimes, 1})
          .Cases("fgets", "getcwd", LibraryWrite{0, Bytes::kString})
          .Cases("sprintf", "vsprintf", "__sprintf_chk", "__vsprintf_chk",
                 LibraryWrite{0, Bytes::kPrinted})
          .Cases("snprintf", "vsnprintf", "__snprintf_chk", "__vsnprintf_chk",
                 LibraryWrite{0, Bytes::kPrinted, 1})
          .Case("calloc", LibraryWrite{kResult, Bytes::kArguments, 0})
          .Case("realloc", LibraryWrite{kResult, Bytes::kArgument, 1})
          .Case("reallocarray", LibraryWrite{kResult, Bytes::kArguments, 1})
          .Cases("strdup", "strndup", LibraryWrite{kResult, Bytes::kString})
          .Default(std::nullopt);
  if (!write) return {};
  // A program's own function may have the name of a library function; its signature then differs.
  const auto is_integer = [&](int argument) {
    return argument == LibraryWrite::kNone ||
           (static_cast<unsigned>(argument) < call.arg_size() &&
            call.getArgOperand(static_cast<unsigned>(argument))->getType()->isIntegerTy());
  };
  const bool returns_bytes = write->bytes == Bytes::kResult ||
                             write->bytes == Bytes::kResultTimes || write->bytes == Bytes::kPrinted;
  const int last = write->argument + (write->bytes == Bytes::kArguments ? 1 : 0);
  const bool fits = is_integer(write->argument) && is_integer(last) &&
                    call.getType()->isIntegerTy() == returns_bytes &&
                    (write->destination == kResult
                         ? call.getType()->isPointerTy()
                         : static_cast<unsigned>(write->destination) < call.arg_size() &&
                               call.getArgOperand(static_cast<unsigned>(write->destination))
                                   ->getType()
                                   ->isPointerTy());
  return fits ? write : std::nullopt;
}

bool sends_data(const llvm::Module& module) {
  constexpr const char* kFunctions[] = {"write",    "writev", "pwrite", "pwrite64", "pwritev",
                                        "pwritev2", "send",   "sendto", "sendmsg",  "sendmmsg"};
  return llvm::any_of(kFunctions, [&](const char* name) {
    const llvm::Function* function = module.getFunction(name);
    return function != nullptr && function->isDeclaration();
  });
}

bool opens_streams(const llvm::Module& module) {
  const llvm::Function* function = module.getFunction("fdopen");
  return function != nullptr && function->isDeclaration();
}

std::optional<StreamWrite> stream_write(const llvm::CallBase& call) {
  using Write = std::optional<StreamWrite>;
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return {};
  const Write write = llvm::StringSwitch<Write>(callee->getName())
                          .Cases("fprintf", "vfprintf", StreamWrite{0})
                          .Cases("__fprintf_chk", "__vfprintf_chk", StreamWrite{0})
                          .Cases("fputc", "putc", "fputc_unlocked", StreamWrite{1})
                          .Cases("fputs", "fputs_unlocked", StreamWrite{1, 0})
                          .Cases("fwrite", "fwrite_unlocked", StreamWrite{3, 0})
                          .Default(std::nullopt);
  const auto is_pointer = [&](unsigned argument) {
    return argument < call.arg_size() && call.getArgOperand(argument)->getType()->isPointerTy();
  };
  if (!write || !is_pointer(write->stream)) return {};
  return write->bytes == StreamWrite::kNone || is_pointer(write->bytes) ? write : std::nullopt;
}

bool is_openmp_flush(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && callee->isDeclaration() && callee->getName() == "__kmpc_flush";
}

bool is_atomic_function(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && callee->isDeclaration() &&
         callee->getName().starts_with("__atomic_") &&
         !callee->getName().starts_with("__atomic_is_lock_free");
}

LibraryCall library_call(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return LibraryCall::kOther;
  const StringRef name = callee->getName();
  const LibraryCall copying = copying_function(name);
  return has_signature_of(copying, *callee) ? copying : LibraryCall::kOther;
}

}  // namespace pmemsim::pass
