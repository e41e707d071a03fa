// Objects of libpmemobj: their addresses and sizes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "library_calls.hpp"
#include "replacements.hpp"

struct pmemobjpool;

namespace pmemsim::rt {

inline constexpr char kPmemobjHeader[] = "/usr/include/libpmemobj/base.h";
inline constexpr char kPmemobjLibrary[] = "libpmemobj.so";

// PMEMoid of the library.
struct ObjectId {
  std::uint64_t pool, offset;
  bool is_null() const { return offset == 0; }
};

// A function of the library that the runtime calls for itself.
void* pmemobj_function(const char* name);

void* address_of(ObjectId object);  // nullptr: it is null
std::size_t usable_bytes(ObjectId object);
// Records that the library has stored values in persistent memory, and made them persistent up to a
// fence.
void store_and_flush(LibraryCall& call, void* at, std::size_t bytes);
// The same for an object's address, if it is in persistent memory, with a fence.
void publish(LibraryCall& call, ObjectId* at);

// Records what published actions (pmemobj_reserve(), pmemobj_set_value(), ...) have done: stores up
// to a fence.
void record_actions(LibraryCall& call, void* actions, std::size_t count);

template <class Function>
Replacement in_pmemobj(const char* name, Function function, Function& original) {
  return {kPmemobjLibrary, name, reinterpret_cast<void*>(function),
          reinterpret_cast<void**>(&original)};
}

}  // namespace pmemsim::rt
