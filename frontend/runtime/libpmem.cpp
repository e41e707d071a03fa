// libpmem: each function is called, and what it has done is recorded.
#include "libpmem.hpp"

#include <cstddef>

#include "library_calls.hpp"
#include "persistent_copies.hpp"

namespace pmemsim::rt {
namespace {

constexpr char kHeader[] = "/usr/include/libpmem.h";

using Range = void (*)(const void*, std::size_t);
using CheckedRange = int (*)(const void*, std::size_t);
using Copy = void* (*)(void*, const void*, std::size_t);
using Set = void* (*)(void*, int, std::size_t);
using CopyByFlags = void* (*)(void*, const void*, std::size_t, unsigned);
using SetByFlags = void* (*)(void*, int, std::size_t, unsigned);

struct {
  Range persist, flush, deep_flush;
  CheckedRange deep_persist, deep_drain;
  void (*drain)();
  int (*has_auto_flush)();
  Copy memcpy_persist, memcpy_nodrain, memmove_persist, memmove_nodrain;
  Set memset_persist, memset_nodrain;
  CopyByFlags memcpy, memmove;
  SetByFlags memset;
} library;

void persist(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_persist"};
  LibraryCall call(function);
  library.persist(begin, bytes);
  call.flush(begin, bytes);
  call.fence();
}
void flush(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_flush"};
  LibraryCall call(function);
  library.flush(begin, bytes);
  call.flush(begin, bytes);
}
void drain() {
  static LibraryFunction function{kHeader, "pmem_drain"};
  LibraryCall call(function);
  library.drain();
  call.fence();
}
void deep_flush(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_deep_flush"};
  LibraryCall call(function);
  library.deep_flush(begin, bytes);
  call.flush(begin, bytes);
}
int deep_drain(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_deep_drain"};
  LibraryCall call(function);
  const int result = library.deep_drain(begin, bytes);
  call.fence();
  return result;
}
int deep_persist(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_deep_persist"};
  LibraryCall call(function);
  const int result = library.deep_persist(begin, bytes);
  call.flush(begin, bytes);
  call.fence();
  return result;
}

// A program that finds persistent caches flushes nothing. The recording is for processors without
// them, whichever one it is made on.
int has_auto_flush() { return records_library_calls() ? 0 : library.has_auto_flush(); }

void* copy(LibraryFunction& function, const void* caller, Copy original, void* to, const void* from,
           std::size_t bytes, unsigned flags) {
  LibraryCall call(function, Callers::kRecorded, caller);
  void* result = original(to, from, bytes);
  record_persistent_copy(call, to, from, bytes, flags);
  return result;
}
void* copy_by_flags(LibraryFunction& function, const void* caller, CopyByFlags original, void* to,
                    const void* from, std::size_t bytes, unsigned flags) {
  LibraryCall call(function, Callers::kRecorded, caller);
  void* result = original(to, from, bytes, flags);
  record_persistent_copy(call, to, from, bytes, flags);
  return result;
}
void* set(LibraryFunction& function, const void* caller, Set original, void* to, int byte,
          std::size_t bytes, unsigned flags) {
  LibraryCall call(function, Callers::kRecorded, caller);
  void* result = original(to, byte, bytes);
  record_persistent_copy(call, to, nullptr, bytes, flags);
  return result;
}

void* memcpy_persist(void* to, const void* from, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_memcpy_persist"};
  return copy(function, __builtin_return_address(0), library.memcpy_persist, to, from, bytes, 0);
}
void* memcpy_nodrain(void* to, const void* from, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_memcpy_nodrain"};
  return copy(function, __builtin_return_address(0), library.memcpy_nodrain, to, from, bytes,
              kNoDrain);
}
void* memmove_persist(void* to, const void* from, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_memmove_persist"};
  return copy(function, __builtin_return_address(0), library.memmove_persist, to, from, bytes, 0);
}
void* memmove_nodrain(void* to, const void* from, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_memmove_nodrain"};
  return copy(function, __builtin_return_address(0), library.memmove_nodrain, to, from, bytes,
              kNoDrain);
}
void* memset_persist(void* to, int byte, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_memset_persist"};
  return set(function, __builtin_return_address(0), library.memset_persist, to, byte, bytes, 0);
}
void* memset_nodrain(void* to, int byte, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem_memset_nodrain"};
  return set(function, __builtin_return_address(0), library.memset_nodrain, to, byte, bytes,
             kNoDrain);
}
void* copy_memory(void* to, const void* from, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kHeader, "pmem_memcpy"};
  return copy_by_flags(function, __builtin_return_address(0), library.memcpy, to, from, bytes,
                       flags);
}
void* move_memory(void* to, const void* from, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kHeader, "pmem_memmove"};
  return copy_by_flags(function, __builtin_return_address(0), library.memmove, to, from, bytes,
                       flags);
}
void* set_memory(void* to, int byte, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kHeader, "pmem_memset"};
  LibraryCall call(function);
  void* result = library.memset(to, byte, bytes, flags);
  record_persistent_copy(call, to, nullptr, bytes, flags);
  return result;
}

template <class Function>
Replacement by(const char* name, Function function, Function& original) {
  return {"libpmem.so", name, reinterpret_cast<void*>(function),
          reinterpret_cast<void**>(&original)};
}

const Replacement kFunctions[] = {
    by("pmem_persist", &persist, library.persist),
    by("pmem_flush", &flush, library.flush),
    by("pmem_drain", &drain, library.drain),
    by("pmem_deep_flush", &deep_flush, library.deep_flush),
    by("pmem_deep_drain", &deep_drain, library.deep_drain),
    by("pmem_deep_persist", &deep_persist, library.deep_persist),
    by("pmem_has_auto_flush", &has_auto_flush, library.has_auto_flush),
    by("pmem_memcpy_persist", &memcpy_persist, library.memcpy_persist),
    by("pmem_memcpy_nodrain", &memcpy_nodrain, library.memcpy_nodrain),
    by("pmem_memmove_persist", &memmove_persist, library.memmove_persist),
    by("pmem_memmove_nodrain", &memmove_nodrain, library.memmove_nodrain),
    by("pmem_memset_persist", &memset_persist, library.memset_persist),
    by("pmem_memset_nodrain", &memset_nodrain, library.memset_nodrain),
    by("pmem_memcpy", &copy_memory, library.memcpy),
    by("pmem_memmove", &move_memory, library.memmove),
    by("pmem_memset", &set_memory, library.memset),
};

}  // namespace

const Replacements kLibpmem{kFunctions, sizeof(kFunctions) / sizeof(kFunctions[0])};

}  // namespace pmemsim::rt
