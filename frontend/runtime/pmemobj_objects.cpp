#include "pmemobj_objects.hpp"

#include <dlfcn.h>

#include "persistent.hpp"
#include "status.hpp"

namespace pmemsim::rt {

void* pmemobj_function(const char* name) {
  // The library is loaded, since the program has called one of its functions.
  static void* const library = dlopen("libpmemobj.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) fail("libpmemobj has no %s", name);
  return function;
}

void* address_of(ObjectId object) {
  using PoolOf = pmemobjpool* (*)(ObjectId);
  static const auto pool_of = reinterpret_cast<PoolOf>(pmemobj_function("pmemobj_pool_by_oid"));
  if (object.is_null()) return nullptr;
  auto* const pool = reinterpret_cast<char*>(pool_of(object));
  return pool == nullptr ? nullptr : pool + object.offset;
}

std::size_t usable_bytes(ObjectId object) {
  using BytesOf = std::size_t (*)(ObjectId);
  static const auto bytes_of =
      reinterpret_cast<BytesOf>(pmemobj_function("pmemobj_alloc_usable_size"));
  return object.is_null() ? 0 : bytes_of(object);
}

void store_and_flush(LibraryCall& call, void* at, std::size_t bytes) {
  if (!is_persistent(at)) return;
  call.copied(at, nullptr, bytes);
  call.flush(at, bytes);
}

void publish(LibraryCall& call, ObjectId* at) {
  if (at == nullptr || !is_persistent(at)) return;
  store_and_flush(call, at, sizeof(*at));
  call.fence();
}

}  // namespace pmemsim::rt
