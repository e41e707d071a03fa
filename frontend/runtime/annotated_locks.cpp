// Locks that the program implements itself and annotates (pm.h). They are recorded as mutexes are,
// in addition to the accesses that they consist of.
//
// 1. The holder may acquire such a lock again: as with recursive mutexes, the outermost
//    acquisition counts.
// 2. If the thread holds a mutex or reader-writer lock of the C library at the same address, only
//    that one is recorded: it is the first member of the annotated object.
// 3. One thread holds the lock at a time. If two threads seem to hold it, the annotations are
//    wrong, and no run could follow such a recording: it is refused.
// 4. A lock that no thread has been seen to acquire may be released: that leaves no record.
//
// They have a table of their own, because another object may be at the same address. For example, a
// lock made of a futex consists of its futex.
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

bool has_otherwise(const volatile void* address) {
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
  if (has_otherwise(address)) return;
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
