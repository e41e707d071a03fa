// libpmemobj's functions that make data persistent, and its lists.
#include "libpmemobj.hpp"

#include <cstddef>

#include "library_calls.hpp"
#include "persistent_copies.hpp"
#include "pmemobj_objects.hpp"

namespace pmemsim::rt {
namespace {

using Pool = pmemobjpool*;

struct {
  void (*persist)(Pool, const void*, std::size_t);
  int (*xpersist)(Pool, const void*, std::size_t, unsigned);
  void (*flush)(Pool, const void*, std::size_t);
  int (*xflush)(Pool, const void*, std::size_t, unsigned);
  void (*drain)(Pool);
  void* (*memcpy_persist)(Pool, void*, const void*, std::size_t);
  void* (*memset_persist)(Pool, void*, int, std::size_t);
  void* (*memcpy)(Pool, void*, const void*, std::size_t, unsigned);
  void* (*memmove)(Pool, void*, const void*, std::size_t, unsigned);
  void* (*memset)(Pool, void*, int, std::size_t, unsigned);
  ObjectId (*first)(Pool);
  ObjectId (*next)(ObjectId);
  int (*list_insert)(Pool, std::size_t, void*, ObjectId, int, ObjectId);
  int (*list_remove)(Pool, std::size_t, void*, ObjectId, int);
  int (*list_move)(Pool, std::size_t, void*, std::size_t, void*, ObjectId, int, ObjectId);
} library;

void persist(Pool pool, const void* begin, std::size_t bytes) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_persist"};
  LibraryCall call(function);
  library.persist(pool, begin, bytes);
  call.flush(begin, bytes);
  call.fence();
}
int xpersist(Pool pool, const void* begin, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_xpersist"};
  LibraryCall call(function);
  const int result = library.xpersist(pool, begin, bytes, flags);
  if (result != 0) return result;
  call.flush(begin, bytes);
  call.fence();
  return result;
}
void flush(Pool pool, const void* begin, std::size_t bytes) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_flush"};
  LibraryCall call(function);
  library.flush(pool, begin, bytes);
  call.flush(begin, bytes);
}
int xflush(Pool pool, const void* begin, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_xflush"};
  LibraryCall call(function);
  const int result = library.xflush(pool, begin, bytes, flags);
  if (result == 0) call.flush(begin, bytes);
  return result;
}
void drain(Pool pool) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_drain"};
  LibraryCall call(function);
  library.drain(pool);
  call.fence();
}
void* memcpy_persist(Pool pool, void* to, const void* from, std::size_t bytes) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_memcpy_persist"};
  LibraryCall call(function);
  void* result = library.memcpy_persist(pool, to, from, bytes);
  record_persistent_copy(call, to, from, bytes, 0);
  return result;
}
void* memset_persist(Pool pool, void* to, int byte, std::size_t bytes) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_memset_persist"};
  LibraryCall call(function);
  void* result = library.memset_persist(pool, to, byte, bytes);
  record_persistent_copy(call, to, nullptr, bytes, 0);
  return result;
}
void* copy_memory(Pool pool, void* to, const void* from, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_memcpy"};
  LibraryCall call(function);
  void* result = library.memcpy(pool, to, from, bytes, flags);
  record_persistent_copy(call, to, from, bytes, flags);
  return result;
}
void* move_memory(Pool pool, void* to, const void* from, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_memmove"};
  LibraryCall call(function);
  void* result = library.memmove(pool, to, from, bytes, flags);
  record_persistent_copy(call, to, from, bytes, flags);
  return result;
}
void* set_memory(Pool pool, void* to, int byte, std::size_t bytes, unsigned flags) {
  static LibraryFunction function{kPmemobjHeader, "pmemobj_memset"};
  LibraryCall call(function);
  void* result = library.memset(pool, to, byte, bytes, flags);
  record_persistent_copy(call, to, nullptr, bytes, flags);
  return result;
}

// These only forward. Their replacement tells enumerates_objects() that the program can find
// objects to which no pointer leads, so that `leaked` isn't checked.
ObjectId first(Pool pool) { return library.first(pool); }
ObjectId next(ObjectId object) { return library.next(object); }

// ---- Lists --------------------------------------------------------------------------------------

constexpr char kListHeader[] = "/usr/include/libpmemobj/lists_atomic_base.h";

// An object's entry in a list.
struct ListEntry {
  ObjectId next, previous;
};

ListEntry* entry_of(ObjectId object, std::size_t offset) {
  void* const begin = address_of(object);
  return begin == nullptr ? nullptr
                          : reinterpret_cast<ListEntry*>(static_cast<char*>(begin) + offset);
}

// The list's entries that are concerned by a change of an object's entry: its own and those beside.
class Entries {
 public:
  Entries(ObjectId object, std::size_t offset) {
    add(entry_of(object, offset));
    if (entries_[0] == nullptr) return;
    add(entry_of(entries_[0]->next, offset));
    add(entry_of(entries_[0]->previous, offset));
  }
  void record(LibraryCall& call) const {
    for (ListEntry* entry : entries_) {
      if (entry != nullptr) store_and_flush(call, entry, sizeof(*entry));
    }
  }

 private:
  void add(ListEntry* entry) {
    for (ListEntry*& place : entries_) {
      if (place == entry) return;
      if (place == nullptr) {
        place = entry;
        return;
      }
    }
  }
  ListEntry* entries_[3] = {};
};

void record_head(LibraryCall& call, void* head) {
  store_and_flush(call, head, sizeof(ObjectId));
  call.fence();
}

int list_insert(Pool pool, std::size_t offset, void* head, ObjectId at, int before,
                ObjectId object) {
  static LibraryFunction function{kListHeader, "pmemobj_list_insert"};
  LibraryCall call(function);
  const int result = library.list_insert(pool, offset, head, at, before, object);
  if (result != 0 || !call.recorded()) return result;
  Entries(object, offset).record(call);
  record_head(call, head);
  return result;
}
int list_remove(Pool pool, std::size_t offset, void* head, ObjectId object, int frees) {
  static LibraryFunction function{kListHeader, "pmemobj_list_remove"};
  LibraryCall call(function);
  if (!call.recorded()) return library.list_remove(pool, offset, head, object, frees);
  const Entries entries(object, offset);
  void* const begin = address_of(object);
  const std::size_t bytes = usable_bytes(object);
  const int result = library.list_remove(pool, offset, head, object, frees);
  if (result != 0) return result;
  entries.record(call);
  record_head(call, head);
  if (frees != 0) {
    call.mark(trace::MarkKind::kFree, reinterpret_cast<std::uintptr_t>(begin), bytes);
  }
  return result;
}
int list_move(Pool pool, std::size_t from_offset, void* from, std::size_t to_offset, void* to,
              ObjectId at, int before, ObjectId object) {
  static LibraryFunction function{kListHeader, "pmemobj_list_move"};
  LibraryCall call(function);
  if (!call.recorded()) {
    return library.list_move(pool, from_offset, from, to_offset, to, at, before, object);
  }
  const Entries entries(object, from_offset);
  const int result = library.list_move(pool, from_offset, from, to_offset, to, at, before, object);
  if (result != 0) return result;
  entries.record(call);
  Entries(object, to_offset).record(call);
  store_and_flush(call, from, sizeof(ObjectId));
  record_head(call, to);
  return result;
}

const Replacement kFunctions[] = {
    in_pmemobj("pmemobj_persist", &persist, library.persist),
    in_pmemobj("pmemobj_xpersist", &xpersist, library.xpersist),
    in_pmemobj("pmemobj_flush", &flush, library.flush),
    in_pmemobj("pmemobj_xflush", &xflush, library.xflush),
    in_pmemobj("pmemobj_drain", &drain, library.drain),
    in_pmemobj("pmemobj_memcpy_persist", &memcpy_persist, library.memcpy_persist),
    in_pmemobj("pmemobj_memset_persist", &memset_persist, library.memset_persist),
    in_pmemobj("pmemobj_memcpy", &copy_memory, library.memcpy),
    in_pmemobj("pmemobj_memmove", &move_memory, library.memmove),
    in_pmemobj("pmemobj_memset", &set_memory, library.memset),
    in_pmemobj("pmemobj_first", &first, library.first),
    in_pmemobj("pmemobj_next", &next, library.next),
    in_pmemobj("pmemobj_list_insert", &list_insert, library.list_insert),
    in_pmemobj("pmemobj_list_remove", &list_remove, library.list_remove),
    in_pmemobj("pmemobj_list_move", &list_move, library.list_move),
};

}  // namespace

bool enumerates_objects() { return library.first != nullptr || library.next != nullptr; }

const Replacements kLibpmemobj{kFunctions, sizeof(kFunctions) / sizeof(kFunctions[0])};

}  // namespace pmemsim::rt
