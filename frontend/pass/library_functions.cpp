#include "library_functions.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Function.h>

namespace pmemsim::pass {
namespace {

using llvm::StringRef;

// Functions of libc and libstdc++ that neither call back nor block. Their instructions are counted
// as uninstrumented. The list excludes threads and locks (the runtime has its own), setjmp and
// longjmp, and functions such as qsort that call back into the program.
const llvm::StringSet<>& external_functions() {
  static const llvm::StringSet<> names = {
      // memory
      "malloc",
      "free",
      "calloc",
      "realloc",
      "reallocarray",
      "aligned_alloc",
      "posix_memalign",
      "memalign",
      "valloc",
      "malloc_usable_size",
      "strdup",
      "strndup",
      "mmap",
      "munmap",
      "msync",
      "mprotect",
      "madvise",
      "mremap",
      // operator new and delete
      "_Znwm",
      "_Znam",
      "_ZnwmSt11align_val_t",
      "_ZnamSt11align_val_t",
      "_ZnwmRKSt9nothrow_t",
      "_ZnamRKSt9nothrow_t",
      "_ZdlPv",
      "_ZdaPv",
      "_ZdlPvm",
      "_ZdaPvm",
      "_ZdlPvSt11align_val_t",
      "_ZdlPvmSt11align_val_t",
      "_ZdaPvSt11align_val_t",
      "_ZdaPvmSt11align_val_t",
      // strings
      "strlen",
      "strnlen",
      "strcmp",
      "strncmp",
      "strcasecmp",
      "strncasecmp",
      "strcoll",
      "memcmp",
      "bcmp",
      "memchr",
      "memrchr",
      "memmem",
      "strchr",
      "strrchr",
      "strchrnul",
      "strstr",
      "strcasestr",
      "strspn",
      "strcspn",
      "strpbrk",
      "strtok",
      "strtok_r",
      "strsep",
      "strerror",
      "strerror_r",
      // numbers
      "atoi",
      "atol",
      "atoll",
      "atof",
      "strtol",
      "strtoll",
      "strtoul",
      "strtoull",
      "strtod",
      "strtof",
      "__isoc99_strtol",
      "__isoc23_strtol",
      "__isoc23_strtoll",
      "__isoc23_strtoul",
      "__isoc23_strtoull",
      "rand",
      "srand",
      "rand_r",
      "random",
      "srandom",
      "random_r",
      "drand48",
      "lrand48",
      "mrand48",
      "srand48",
      "erand48",
      "nrand48",
      "abs",
      "labs",
      "div",
      "ldiv",
      // characters
      "isalpha",
      "isdigit",
      "isalnum",
      "isspace",
      "isupper",
      "islower",
      "isprint",
      "ispunct",
      "isxdigit",
      "toupper",
      "tolower",
      "__ctype_b_loc",
      "__ctype_toupper_loc",
      "__ctype_tolower_loc",
      // input and output
      "printf",
      "fprintf",
      "dprintf",
      "sprintf",
      "snprintf",
      "vprintf",
      "vfprintf",
      "vsprintf",
      "vsnprintf",
      "asprintf",
      "vasprintf",
      "__printf_chk",
      "__fprintf_chk",
      "__sprintf_chk",
      "__snprintf_chk",
      "__vsnprintf_chk",
      "puts",
      "fputs",
      "putchar",
      "putc",
      "fputc",
      "getc",
      "fgetc",
      "getchar",
      "fgets",
      "getline",
      "ungetc",
      "fopen",
      "fopen64",
      "fdopen",
      "freopen",
      "fclose",
      "fflush",
      "fread",
      "fwrite",
      "fseek",
      "fseeko",
      "ftell",
      "ftello",
      "rewind",
      "feof",
      "ferror",
      "clearerr",
      "fileno",
      "setvbuf",
      "setbuf",
      "perror",
      "sscanf",
      "fscanf",
      "scanf",
      "__isoc99_sscanf",
      "__isoc99_fscanf",
      "__isoc99_scanf",
      "__isoc23_sscanf",
      "__isoc23_fscanf",
      "__isoc23_scanf",
      "remove",
      "rename",
      // files
      "open",
      "open64",
      "openat",
      "creat",
      "close",
      "read",
      "write",
      "pread",
      "pwrite",
      "pread64",
      "pwrite64",
      "readv",
      "writev",
      "lseek",
      "lseek64",
      "ftruncate",
      "ftruncate64",
      "truncate",
      "fallocate",
      "fallocate64",
      "posix_fallocate",
      "posix_fallocate64",
      "fsync",
      "fdatasync",
      "stat",
      "fstat",
      "lstat",
      "stat64",
      "fstat64",
      "lstat64",
      "access",
      "unlink",
      "mkdir",
      "rmdir",
      "dup",
      "dup2",
      "fcntl",
      "flock",
      "getcwd",
      "chdir",
      "realpath",
      "mkstemp",
      // the system
      "getenv",
      "setenv",
      "getpid",
      "getppid",
      "gettid",
      "getuid",
      "geteuid",
      "sysconf",
      "getpagesize",
      "getrusage",
      "getrlimit",
      "setrlimit",
      "getopt",
      "getopt_long",
      "uname",
      "gethostname",
      "__errno_location",
      "sched_getcpu",
      "time",
      "clock",
      "clock_gettime",
      "clock_getres",
      "gettimeofday",
      "localtime",
      "localtime_r",
      "gmtime",
      "gmtime_r",
      "mktime",
      "strftime",
      "difftime",
      "times",
      // libstdc++
      "_ZSt11_Hash_bytesPKvmm",
      "_ZSt15_Fnv_hash_bytesPKvmm",
      "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
      "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
      "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
      "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
      "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
      "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
      "_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
      "_ZNSt8__detail15_List_node_base9_M_unhookEv",
      "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm",
      "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm",
      "_ZNSt6chrono3_V212system_clock3nowEv",
      "_ZNSt6chrono3_V212steady_clock3nowEv",
  };
  return names;
}

// Mathematical functions: the name, for double, float (suffix f) and long double (suffix l).
bool is_mathematics(StringRef name) {
  static const llvm::StringSet<> names = {
      "sin",   "cos",   "tan",   "asin",   "acos",      "atan",   "atan2",    "sinh",      "cosh",
      "tanh",  "asinh", "acosh", "atanh",  "exp",       "exp2",   "expm1",    "log",       "log2",
      "log10", "log1p", "pow",   "sqrt",   "cbrt",      "hypot",  "fmod",     "remainder", "ceil",
      "floor", "round", "trunc", "rint",   "nearbyint", "lround", "llround",  "lrint",     "llrint",
      "fabs",  "fma",   "fmax",  "fmin",   "fdim",      "erf",    "erfc",     "tgamma",    "lgamma",
      "ldexp", "frexp", "modf",  "scalbn", "logb",      "ilogb",  "copysign", "sincos",
  };
  return names.contains(name) ||
         ((name.ends_with("f") || name.ends_with("l")) && names.contains(name.drop_back()));
}

// Members of std::string that libstdc++ contains precompiled.
bool is_string_member(StringRef name) {
  return name.starts_with("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE") ||
         name.starts_with("_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE");
}

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
    case LibraryCall::kExternal:
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
  if (copying != LibraryCall::kOther) {
    return has_signature_of(copying, *callee) ? copying : LibraryCall::kOther;
  }
  if (external_functions().contains(name) || is_mathematics(name) || is_string_member(name)) {
    return LibraryCall::kExternal;
  }
  return LibraryCall::kOther;
}

}  // namespace pmemsim::pass
