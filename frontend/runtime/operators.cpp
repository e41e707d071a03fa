// C++'s operators new and delete, and reallocarray, for the heap that counts as PM. If the program
// uses this heap (PMEMSIM_PM_HEAP), the operators allocate from it, even if an allocator library
// has operators of its own that don't call malloc. Otherwise they call the program's own operators.
//
// Each operator is one jump, like the entry of the program's linkage table that it replaces, so
// that the counted instructions of a call don't change.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include <dlfcn.h>

#include "heap.hpp"
#include "pmemsim_rt.h"
#include "status.hpp"

// operator new(std::size_t), operator delete(void*)
extern "C" void* _Znwm(std::size_t);
extern "C" void _ZdlPv(void*);

namespace pmemsim::rt {
namespace {

using New = void* (*)(std::size_t);
New next_new = nullptr;

void* new_aligned_or_null(std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}
// On failure, calls the C++ library's operator with a size that is too large: it throws the
// exception that the program expects.
void* or_throw(void* memory) {
  if (memory != nullptr) return memory;
  if (next_new == nullptr) fail("%s ran out of memory in operator new", program_name);
  return next_new(PTRDIFF_MAX);
}
void* new_or_throw(std::size_t bytes) { return or_throw(std::malloc(bytes)); }
void* new_aligned_or_throw(std::size_t bytes, std::size_t alignment) {
  return or_throw(new_aligned_or_null(bytes, alignment));
}
void delete_any(void* memory) { std::free(memory); }
// Array and nothrow operators call the plain operators, which the program may define itself. The
// C++ library's operators do the same.
void* new_by_other(std::size_t bytes) { return _Znwm(bytes); }
void delete_by_other(void* memory) { _ZdlPv(memory); }
// The runtime can't catch exceptions. So this function first tests whether the plain operator would
// throw.
void* new_or_null(std::size_t bytes) {
  void* tried = std::malloc(bytes);
  if (tried == nullptr) return nullptr;
  std::free(tried);
  return new_by_other(bytes);
}
void* allocate_array(void* memory, std::size_t count, std::size_t bytes) {
  std::size_t total = 0;
  if (!__builtin_mul_overflow(count, bytes, &total)) return std::realloc(memory, total);
  errno = ENOMEM;
  return nullptr;
}

// The operators' mangled names: m is sized, St11align_val_t aligned, RKSt9nothrow_t without
// exceptions.
#define PMEMSIM_OPERATORS(F)                                    \
  F(0, _Znwm, new_or_throw)                                     \
  F(1, _Znam, new_by_other)                                     \
  F(2, _ZnwmRKSt9nothrow_t, new_or_null)                        \
  F(3, _ZnamRKSt9nothrow_t, new_or_null)                        \
  F(4, _ZnwmSt11align_val_t, new_aligned_or_throw)              \
  F(5, _ZnamSt11align_val_t, new_aligned_or_throw)              \
  F(6, _ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_or_null) \
  F(7, _ZnamSt11align_val_tRKSt9nothrow_t, new_aligned_or_null) \
  F(8, _ZdlPv, delete_any)                                      \
  F(9, _ZdaPv, delete_by_other)                                 \
  F(10, _ZdlPvm, delete_by_other)                               \
  F(11, _ZdaPvm, delete_by_other)                               \
  F(12, _ZdlPvRKSt9nothrow_t, delete_by_other)                  \
  F(13, _ZdaPvRKSt9nothrow_t, delete_by_other)                  \
  F(14, _ZdlPvSt11align_val_t, delete_any)                      \
  F(15, _ZdaPvSt11align_val_t, delete_any)                      \
  F(16, _ZdlPvmSt11align_val_t, delete_any)                     \
  F(17, _ZdaPvmSt11align_val_t, delete_any)                     \
  F(18, _ZdlPvSt11align_val_tRKSt9nothrow_t, delete_any)        \
  F(19, _ZdaPvSt11align_val_tRKSt9nothrow_t, delete_any)        \
  F(20, reallocarray, allocate_array)

struct Operator {
  const char* name;
  void* of_heap;
};
#define PMEMSIM_OPERATOR(number, name, own) {#name, reinterpret_cast<void*>(&own)},
const Operator kOperators[] = {PMEMSIM_OPERATORS(PMEMSIM_OPERATOR)};
#undef PMEMSIM_OPERATOR

}  // namespace

// The target of each operator.
extern "C" {
extern void* pmemsim_rt_operators[];
[[gnu::used, gnu::visibility("hidden")]] void* pmemsim_rt_operators[std::size(kOperators)];
}

// Weak, as in heap.cpp: a program with operators of its own keeps them.
#define PMEMSIM_ENTRY(number, name, own)                           \
  asm(".text\n.weak " #name "\n.type " #name ", @function\n" #name \
      ":\n.cfi_startproc\njmp *pmemsim_rt_operators+8*" #number    \
      "(%rip)\n.cfi_endproc\n.size " #name ", .-" #name);
PMEMSIM_OPERATORS(PMEMSIM_ENTRY)
#undef PMEMSIM_ENTRY
#undef PMEMSIM_OPERATORS

void find_operators() {
  next_new = reinterpret_cast<New>(dlsym(RTLD_NEXT, "_Znwm"));
  for (std::size_t i = 0; i < std::size(kOperators); ++i) {
    void* next = dlsym(RTLD_NEXT, kOperators[i].name);
    pmemsim_rt_operators[i] = next != nullptr ? next : kOperators[i].of_heap;
  }
}

void use_operators_of_heap() {
  for (std::size_t i = 0; i < std::size(kOperators); ++i) {
    pmemsim_rt_operators[i] = kOperators[i].of_heap;
  }
}

}  // namespace pmemsim::rt
