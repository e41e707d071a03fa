// libpmemobj's atomic allocation: an object is allocated or freed, and its address stored, at once.
#include <cstddef>
#include <cstring>
#include <cwchar>
#include <initializer_list>

#include "address_range.hpp"
#include "libpmemobj.hpp"
#include "library_calls.hpp"
#include "pmemobj_objects.hpp"
#include "reserved_memory.hpp"

namespace pmemsim::rt {
namespace {

using Pool = pmemobjpool*;
using Constructor = int (*)(Pool, void*, void*);
struct Action;  // struct pobj_action

struct {
  int (*alloc)(Pool, ObjectId*, std::size_t, std::uint64_t, Constructor, void*);
  int (*xalloc)(Pool, ObjectId*, std::size_t, std::uint64_t, std::uint64_t, Constructor, void*);
  int (*zalloc)(Pool, ObjectId*, std::size_t, std::uint64_t);
  int (*realloc)(Pool, ObjectId*, std::size_t, std::uint64_t);
  int (*zrealloc)(Pool, ObjectId*, std::size_t, std::uint64_t);
  int (*strdup)(Pool, ObjectId*, const char*, std::uint64_t);
  int (*wcsdup)(Pool, ObjectId*, const wchar_t*, std::uint64_t);
  void (*free)(ObjectId*);
  ObjectId (*root)(Pool, std::size_t);
  ObjectId (*root_construct)(Pool, std::size_t, Constructor, void*);
  ObjectId (*list_insert_new)(Pool, std::size_t, void*, ObjectId, int, std::size_t, std::uint64_t,
                              Constructor, void*);
  ObjectId (*reserve)(Pool, Action*, std::size_t, std::uint64_t);
  ObjectId (*xreserve)(Pool, Action*, std::size_t, std::uint64_t, std::uint64_t);
  void (*set_value)(Pool, Action*, std::uint64_t*, std::uint64_t);
  void (*defer_free)(Pool, ObjectId, Action*);
  int (*publish)(Pool, Action*, std::size_t);
  void (*cancel)(Pool, Action*, std::size_t);
} library;

constexpr char kHeader[] = "/usr/include/libpmemobj/atomic_base.h";
constexpr char kActionHeader[] = "/usr/include/libpmemobj/action_base.h";
constexpr char kPoolHeader[] = "/usr/include/libpmemobj/pool_base.h";
constexpr std::uint64_t kZeroed = 1;         // POBJ_XALLOC_ZERO
constexpr std::size_t kActionBytes = 128;    // sizeof(struct pobj_action)
constexpr std::size_t kListEntryBytes = 32;  // two addresses of objects

void mark_allocation(LibraryCall& call, const void* begin, std::size_t bytes) {
  call.mark(trace::MarkKind::kAllocate, reinterpret_cast<std::uintptr_t>(begin), bytes);
}
void mark_free(LibraryCall& call, const Range& object) {
  if (object.begin == 0) return;
  call.mark(trace::MarkKind::kFree, object.begin, object.end - object.begin);
}
Range range_of(ObjectId object) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address_of(object));
  return {begin, begin + usable_bytes(object)};
}

// ---- Constructors -------------------------------------------------------------------------------

// A call of the program's constructor, which the library makes before it publishes the object.
struct Construction {
  LibraryCall& call;
  std::size_t bytes;
  bool zeroed;
  Constructor constructor;  // may be null
  void* argument;
  void* object = nullptr;
};

// Called by the library in place of the program's constructor.
int construct(Pool pool, void* object, void* data) {
  Construction& construction = *static_cast<Construction*>(data);
  construction.object = object;
  LibraryCall& call = construction.call;
  if (call.recorded()) mark_allocation(call, object, construction.bytes);
  if (construction.zeroed) {
    store_and_flush(call, object, construction.bytes);
    call.fence();
  }
  if (construction.constructor == nullptr) return 0;
  const CallBack recorded;
  return construction.constructor(pool, object, construction.argument);
}

// A constructor that fails cancels the allocation.
void end_construction(const Construction& construction, ObjectId* at, int result) {
  if (result == 0) return publish(construction.call, at);
  const auto begin = std::uint64_t{reinterpret_cast<std::uintptr_t>(construction.object)};
  mark_free(construction.call, {begin, begin + construction.bytes});
}

// ---- Allocation ---------------------------------------------------------------------------------

int alloc(Pool pool, ObjectId* at, std::size_t bytes, std::uint64_t type, Constructor constructor,
          void* argument) {
  static LibraryFunction function{kHeader, "pmemobj_alloc"};
  LibraryCall call(function);
  Construction construction{call, bytes, false, constructor, argument};
  const int result = library.alloc(pool, at, bytes, type, &construct, &construction);
  end_construction(construction, at, result);
  return result;
}
int xalloc(Pool pool, ObjectId* at, std::size_t bytes, std::uint64_t type, std::uint64_t flags,
           Constructor constructor, void* argument) {
  static LibraryFunction function{kHeader, "pmemobj_xalloc"};
  LibraryCall call(function);
  Construction construction{call, bytes, (flags & kZeroed) != 0, constructor, argument};
  const int result = library.xalloc(pool, at, bytes, type, flags, &construct, &construction);
  end_construction(construction, at, result);
  return result;
}

// Records an object that the library has allocated and filled, at *at.
void record_filled(LibraryCall& call, ObjectId* at, std::size_t bytes) {
  if (!call.recorded() || at == nullptr) return;
  void* const object = address_of(*at);
  mark_allocation(call, object, usable_bytes(*at));
  store_and_flush(call, object, bytes);
  call.fence();
  publish(call, at);
}

int zalloc(Pool pool, ObjectId* at, std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_zalloc"};
  LibraryCall call(function);
  const int result = library.zalloc(pool, at, bytes, type);
  if (result == 0) record_filled(call, at, bytes);
  return result;
}
int copy_string(Pool pool, ObjectId* at, const char* text, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_strdup"};
  LibraryCall call(function);
  const int result = library.strdup(pool, at, text, type);
  if (result == 0) record_filled(call, at, std::strlen(text) + 1);
  return result;
}
int copy_wide_string(Pool pool, ObjectId* at, const wchar_t* text, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_wcsdup"};
  LibraryCall call(function);
  const int result = library.wcsdup(pool, at, text, type);
  if (result == 0) record_filled(call, at, (std::wcslen(text) + 1) * sizeof(wchar_t));
  return result;
}

using Reallocation = int (*)(Pool, ObjectId*, std::size_t, std::uint64_t);

// A function for both: the contents move with the object, and what is new may be zero.
int reallocate(LibraryCall& call, Reallocation original, bool zeroes, Pool pool, ObjectId* at,
               std::size_t bytes, std::uint64_t type) {
  if (!call.recorded()) return original(pool, at, bytes, type);
  const Range before = at->is_null() ? Range{} : range_of(*at);
  const int result = original(pool, at, bytes, type);
  if (result != 0) return result;
  const Range after = at->is_null() ? Range{} : range_of(*at);
  const std::size_t old_bytes = before.end - before.begin, new_bytes = after.end - after.begin;
  auto* const object = reinterpret_cast<char*>(after.begin);
  if (after.begin != before.begin) mark_free(call, before);
  if (after.begin != 0 && (after.begin != before.begin || new_bytes != old_bytes)) {
    mark_allocation(call, object, new_bytes);
  }
  const std::size_t copied = old_bytes < new_bytes ? old_bytes : new_bytes;
  const bool moved = after.begin != before.begin && after.begin != 0;
  if (moved && copied > 0) store_and_flush(call, object, copied);
  if (zeroes && new_bytes > copied) store_and_flush(call, object + copied, new_bytes - copied);
  call.fence();
  publish(call, at);
  return result;
}
int change_size(Pool pool, ObjectId* at, std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_realloc"};
  LibraryCall call(function);
  return reallocate(call, library.realloc, false, pool, at, bytes, type);
}
int change_size_with_zeros(Pool pool, ObjectId* at, std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_zrealloc"};
  LibraryCall call(function);
  return reallocate(call, library.zrealloc, true, pool, at, bytes, type);
}

void free_object(ObjectId* at) {
  static LibraryFunction function{kHeader, "pmemobj_free"};
  LibraryCall call(function);
  const Range object = call.recorded() && !at->is_null() ? range_of(*at) : Range{};
  library.free(at);
  if (!call.recorded()) return;
  publish(call, at);
  mark_free(call, object);
}

// ---- The root object ----------------------------------------------------------------------------

std::size_t root_bytes(Pool pool) {
  using BytesOf = std::size_t (*)(Pool);
  static const auto bytes_of = reinterpret_cast<BytesOf>(pmemobj_function("pmemobj_root_size"));
  return bytes_of(pool);
}

// The root object is no allocation in a recording: it needs no address that leads to it. A new one,
// and a longer one, is zeroed or copied.
ObjectId root(Pool pool, std::size_t bytes) {
  static LibraryFunction function{kPoolHeader, "pmemobj_root"};
  LibraryCall call(function);
  const std::size_t before = call.recorded() ? root_bytes(pool) : bytes;
  const ObjectId object = library.root(pool, bytes);
  if (before >= bytes || object.is_null()) return object;
  store_and_flush(call, address_of(object), bytes);
  call.fence();
  return object;
}

struct RootConstruction {
  LibraryCall& call;
  std::size_t bytes;
  Constructor constructor;
  void* argument;
};
int construct_root(Pool pool, void* object, void* data) {
  const RootConstruction& construction = *static_cast<RootConstruction*>(data);
  store_and_flush(construction.call, object, construction.bytes);
  construction.call.fence();
  if (construction.constructor == nullptr) return 0;
  const CallBack recorded;
  return construction.constructor(pool, object, construction.argument);
}
ObjectId root_construct(Pool pool, std::size_t bytes, Constructor constructor, void* argument) {
  static LibraryFunction function{kPoolHeader, "pmemobj_root_construct"};
  LibraryCall call(function);
  RootConstruction construction{call, bytes, constructor, argument};
  return library.root_construct(pool, bytes, &construct_root, &construction);
}

// ---- Lists --------------------------------------------------------------------------------------

ObjectId list_insert_new(Pool pool, std::size_t offset, void* head, ObjectId at, int before,
                         std::size_t bytes, std::uint64_t type, Constructor constructor,
                         void* argument) {
  static LibraryFunction function{"/usr/include/libpmemobj/lists_atomic_base.h",
                                  "pmemobj_list_insert_new"};
  LibraryCall call(function);
  Construction construction{call, bytes, false, constructor, argument};
  const ObjectId object = library.list_insert_new(pool, offset, head, at, before, bytes, type,
                                                  &construct, &construction);
  if (!call.recorded() || object.is_null()) return object;
  auto* const entry = reinterpret_cast<ObjectId*>(static_cast<char*>(address_of(object)) + offset);
  store_and_flush(call, entry, kListEntryBytes);
  for (const ObjectId beside : {entry[0], entry[1]}) {
    if (beside.offset == object.offset || beside.is_null()) continue;
    store_and_flush(call, static_cast<char*>(address_of(beside)) + offset, kListEntryBytes);
  }
  store_and_flush(call, head, sizeof(ObjectId));
  call.fence();
  return object;
}

// ---- Actions: allocations and stores that are published together --------------------------------

// The effect of an action that will be published. Key: the action's address.
struct Planned {
  Range object;  // reserved, or freed by it
  bool frees;
  std::uint64_t* value;  // set by it; nullptr: no value
};
Map<Planned> planned;

Planned& planned_by(Action* actions, std::size_t number) {
  return planned[reinterpret_cast<std::uintptr_t>(actions) + number * kActionBytes];
}

ObjectId note_reservation(LibraryCall& call, Action* action, ObjectId object, bool zeroed,
                          std::size_t bytes) {
  if (!call.recorded() || object.is_null()) return object;
  const Range range = range_of(object);
  planned_by(action, 0) = {range, false, nullptr};
  auto* const begin = reinterpret_cast<char*>(range.begin);
  mark_allocation(call, begin, range.end - range.begin);
  if (zeroed) store_and_flush(call, begin, bytes);
  return object;
}
ObjectId reserve(Pool pool, Action* action, std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kActionHeader, "pmemobj_reserve"};
  LibraryCall call(function);
  return note_reservation(call, action, library.reserve(pool, action, bytes, type), false, bytes);
}
ObjectId xreserve(Pool pool, Action* action, std::size_t bytes, std::uint64_t type,
                  std::uint64_t flags) {
  static LibraryFunction function{kActionHeader, "pmemobj_xreserve"};
  LibraryCall call(function);
  return note_reservation(call, action, library.xreserve(pool, action, bytes, type, flags),
                          (flags & kZeroed) != 0, bytes);
}
void set_value(Pool pool, Action* action, std::uint64_t* at, std::uint64_t value) {
  static LibraryFunction function{kActionHeader, "pmemobj_set_value"};
  LibraryCall call(function);
  library.set_value(pool, action, at, value);
  if (call.recorded()) planned_by(action, 0) = {{}, false, at};
}
void defer_free(Pool pool, ObjectId object, Action* action) {
  static LibraryFunction function{kActionHeader, "pmemobj_defer_free"};
  LibraryCall call(function);
  library.defer_free(pool, object, action);
  if (call.recorded()) planned_by(action, 0) = {range_of(object), true, nullptr};
}

int publish_actions(Pool pool, Action* actions, std::size_t count) {
  static LibraryFunction function{kActionHeader, "pmemobj_publish"};
  LibraryCall call(function);
  const int result = library.publish(pool, actions, count);
  if (result != 0 || !call.recorded()) return result;
  record_actions(call, actions, count);
  call.fence();
  return result;
}
void cancel(Pool pool, Action* actions, std::size_t count) {
  static LibraryFunction function{kActionHeader, "pmemobj_cancel"};
  LibraryCall call(function);
  library.cancel(pool, actions, count);
  for (std::size_t i = 0; call.recorded() && i < count; ++i) {
    const Planned& action = planned_by(actions, i);
    if (!action.frees) mark_free(call, action.object);
  }
}

const Replacement kFunctions[] = {
    in_pmemobj("pmemobj_alloc", &alloc, library.alloc),
    in_pmemobj("pmemobj_xalloc", &xalloc, library.xalloc),
    in_pmemobj("pmemobj_zalloc", &zalloc, library.zalloc),
    in_pmemobj("pmemobj_realloc", &change_size, library.realloc),
    in_pmemobj("pmemobj_zrealloc", &change_size_with_zeros, library.zrealloc),
    in_pmemobj("pmemobj_strdup", &copy_string, library.strdup),
    in_pmemobj("pmemobj_wcsdup", &copy_wide_string, library.wcsdup),
    in_pmemobj("pmemobj_free", &free_object, library.free),
    in_pmemobj("pmemobj_root", &root, library.root),
    in_pmemobj("pmemobj_root_construct", &root_construct, library.root_construct),
    in_pmemobj("pmemobj_list_insert_new", &list_insert_new, library.list_insert_new),
    in_pmemobj("pmemobj_reserve", &reserve, library.reserve),
    in_pmemobj("pmemobj_xreserve", &xreserve, library.xreserve),
    in_pmemobj("pmemobj_set_value", &set_value, library.set_value),
    in_pmemobj("pmemobj_defer_free", &defer_free, library.defer_free),
    in_pmemobj("pmemobj_publish", &publish_actions, library.publish),
    in_pmemobj("pmemobj_cancel", &cancel, library.cancel),
};

}  // namespace

void record_actions(LibraryCall& call, void* actions, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Planned& action = planned_by(static_cast<Action*>(actions), i);
    if (action.value != nullptr) store_and_flush(call, action.value, sizeof(*action.value));
    if (action.frees) mark_free(call, action.object);
  }
}

const Replacements kLibpmemobjAllocation{kFunctions, sizeof(kFunctions) / sizeof(kFunctions[0])};

}  // namespace pmemsim::rt
