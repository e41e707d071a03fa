// Locks that the program implements itself and annotates (pm.h). They are recorded like mutexes, in
// addition to the memory accesses that implement them.
//
// 1. The holder may acquire such a lock again. Only the outermost acquisition is recorded, as with
//    recursive mutexes.
// 2. If the thread holds a mutex or reader-writer lock of the C library at the same address, only
//    the C library's lock is recorded: it is the first member of the annotated object.
// 3. One thread holds the lock at a time. If two threads seem to hold it, the annotations are wrong
//    and no simulation could follow the recording: the program ends with an error.
// 4. The release of a lock whose acquisition was not observed is allowed and leaves no record.
//
// Annotated locks are in a table of their own, because another object may be at the same address.
// For example, a lock that is implemented with a futex has the futex's address.
#include "exported.hpp"
#include "objects.hpp"
#include "pmemsim_rt.h"
#include "record.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {
namespace {

Map<SyncObject*> locks;

SyncObject& lock_at(const volatile void* address) {
  SyncObject*& lock = locks[trace_address_of(address)];
  if (lock == nullptr) {
    lock = static_cast<SyncObject*>(allocate(sizeof(SyncObject)));
    lock->address = address;
    lock->kind = ObjectKind::kAnnotatedLock;
  }
  return *lock;
}

bool holds_library_lock_at(const volatile void* address) {
  const SyncObject* object = find_object(address);
  if (object == nullptr) return false;
  const bool reads = object->kind == ObjectKind::kReadWriteLock && object->depth > 0;
  return reads || object->owner == self;
}

[[noreturn]] void refuse(const SyncObject& lock) {
  char here[256], there[256];
  describe_site(last_site(*self), here, sizeof(here));
  describe_site(last_site(*lock.owner), there, sizeof(there));
  fail(
      "%s: thread %u acquires the lock at %p in %s, while thread %u, now in %s, holds it; "
      "annotate the function that releases or re-initialises it with PM_RELEASES; don't annotate "
      "locks that several threads may hold, such as reader locks, with PM_ACQUIRES",
      program_name, self->index, const_cast<const void*>(lock.address), here, lock.owner->index,
      there);
}

void acquired(const volatile void* address) {
  if (holds_library_lock_at(address)) return;
  SyncObject& lock = lock_at(address);
  if (lock.owner == self) {
    ++lock.depth;
    return;
  }
  if (lock.owner != nullptr && recording()) refuse(lock);
  lock.owner = self;
  lock.depth = 1;
  record_acquire(trace::SyncKind::kMutexLock, lock);
}

void released(const volatile void* address) {
  SyncObject** found = locks.find(trace_address_of(address));
  if (found == nullptr || (*found)->owner == nullptr) return;
  SyncObject& lock = **found;
  if (lock.owner == self && lock.depth > 1) {
    --lock.depth;
    return;
  }
  lock.owner = nullptr;
  record_release(trace::SyncKind::kMutexUnlock, lock);
}

}  // namespace
}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT void pmemsim_rt_lock_acquired(const volatile void* lock, int acquired_it) {
  if (acquired_it != 0 && active()) acquired(lock);
}

PMEMSIM_EXPORT void pmemsim_rt_lock_released(const volatile void* lock) {
  if (active()) released(lock);
}
