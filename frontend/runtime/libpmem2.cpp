// libpmem2: it gives the program functions for a mapping, by the mapping's granularity. The program
// gets functions of the runtime instead, which call the library's.
#include <cstddef>

#include "libpmem.hpp"
#include "library_calls.hpp"
#include "persistent_copies.hpp"

struct pmem2_map;

namespace pmemsim::rt {
namespace {

constexpr char kHeader[] = "/usr/include/libpmem2/base.h";
constexpr int kGranularities = 3;  // the library has a function of each sort for each of them

using Range = void (*)(const void*, std::size_t);
using Drain = void (*)();
using Copy = void* (*)(void*, const void*, std::size_t, unsigned);
using Set = void* (*)(void*, int, std::size_t, unsigned);

// The functions of one sort that the library has given, and the runtime's in place of them.
template <class Function>
struct Given {
  Function original[kGranularities];

  // Returns the runtime's function for the library's.
  Function replace(Function function, const Function (&own)[kGranularities]) {
    for (int i = 0; i < kGranularities; ++i) {
      if (original[i] == nullptr) original[i] = function;
      if (original[i] == function) return own[i];
    }
    return function;
  }
};

constinit Given<Range> persists{}, flushes{};
constinit Given<Drain> drains{};
constinit Given<Copy> copies{}, moves{};
constinit Given<Set> sets{};

template <int kNumber>
void persist(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem2_persist_fn"};
  LibraryCall call(function);
  persists.original[kNumber](begin, bytes);
  call.flush(begin, bytes);
  call.fence();
}
template <int kNumber>
void flush(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem2_flush_fn"};
  LibraryCall call(function);
  flushes.original[kNumber](begin, bytes);
  call.flush(begin, bytes);
}
template <int kNumber>
void drain() {
  static LibraryFunction function{kHeader, "pmem2_drain_fn"};
  LibraryCall call(function);
  drains.original[kNumber]();
  call.fence();
}
template <int kNumber>
void* copy(void* to, const void* from, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kHeader, "pmem2_memcpy_fn"};
  LibraryCall call(function);
  void* result = copies.original[kNumber](to, from, bytes, flags);
  record_persistent_copy(call, to, from, bytes, flags);
  return result;
}
template <int kNumber>
void* move(void* to, const void* from, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kHeader, "pmem2_memmove_fn"};
  LibraryCall call(function);
  void* result = moves.original[kNumber](to, from, bytes, flags);
  record_persistent_copy(call, to, from, bytes, flags);
  return result;
}
template <int kNumber>
void* set(void* to, int byte, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kHeader, "pmem2_memset_fn"};
  LibraryCall call(function);
  void* result = sets.original[kNumber](to, byte, bytes, flags);
  record_persistent_copy(call, to, nullptr, bytes, flags);
  return result;
}

struct {
  Range (*get_persist)(pmem2_map*);
  Range (*get_flush)(pmem2_map*);
  Drain (*get_drain)(pmem2_map*);
  Copy (*get_memcpy)(pmem2_map*);
  Copy (*get_memmove)(pmem2_map*);
  Set (*get_memset)(pmem2_map*);
  int (*deep_flush)(pmem2_map*, void*, std::size_t);
} library;

Range get_persist(pmem2_map* map) {
  return persists.replace(library.get_persist(map), {&persist<0>, &persist<1>, &persist<2>});
}
Range get_flush(pmem2_map* map) {
  return flushes.replace(library.get_flush(map), {&flush<0>, &flush<1>, &flush<2>});
}
Drain get_drain(pmem2_map* map) {
  return drains.replace(library.get_drain(map), {&drain<0>, &drain<1>, &drain<2>});
}
Copy get_memcpy(pmem2_map* map) {
  return copies.replace(library.get_memcpy(map), {&copy<0>, &copy<1>, &copy<2>});
}
Copy get_memmove(pmem2_map* map) {
  return moves.replace(library.get_memmove(map), {&move<0>, &move<1>, &move<2>});
}
Set get_memset(pmem2_map* map) {
  return sets.replace(library.get_memset(map), {&set<0>, &set<1>, &set<2>});
}
int deep_flush(pmem2_map* map, void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmem2_deep_flush"};
  LibraryCall call(function);
  const int result = library.deep_flush(map, begin, bytes);
  call.flush(begin, bytes);
  call.fence();
  return result;
}

template <class Function>
Replacement by(const char* name, Function function, Function& original) {
  return {"libpmem2.so", name, reinterpret_cast<void*>(function),
          reinterpret_cast<void**>(&original)};
}

const Replacement kFunctions[] = {
    by("pmem2_get_persist_fn", &get_persist, library.get_persist),
    by("pmem2_get_flush_fn", &get_flush, library.get_flush),
    by("pmem2_get_drain_fn", &get_drain, library.get_drain),
    by("pmem2_get_memcpy_fn", &get_memcpy, library.get_memcpy),
    by("pmem2_get_memmove_fn", &get_memmove, library.get_memmove),
    by("pmem2_get_memset_fn", &get_memset, library.get_memset),
    by("pmem2_deep_flush", &deep_flush, library.deep_flush),
};

}  // namespace

const Replacements kLibpmem2{kFunctions, sizeof(kFunctions) / sizeof(kFunctions[0])};

}  // namespace pmemsim::rt
