#include "locks.hpp"

#include <cerrno>

#include "record.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

using trace::SyncKind;

// A bit of the C library's __kind; the lowest bits are the type.
constexpr int kRobustBit = 0x10;

int type_of(const pthread_mutex_t* mutex) { return mutex->__data.__kind & 3; }

int acquired(SyncObject& object) {
  record_acquire(SyncKind::kMutexLock, object);
  if (!object.owner_died) return 0;
  object.owner_died = false;
  return EOWNERDEAD;
}

constexpr std::uint32_t kRead = 0, kWrite = 1;

int record_read_lock(SyncObject& object) {
  record_acquire(SyncKind::kReadLock, object);
  return 0;
}

int record_write_lock(SyncObject& object) {
  record_acquire(SyncKind::kWriteLock, object);
  // The record has no address: the readers' count isn't a lock of its own.
  if (recording()) {
    put_sync(SyncKind::kWriteLock, nullptr, object.companion.number, object.companion.version);
  }
  return 0;
}

// Gives the lock to the first waiter; if the first waiter is a reader, to all waiting readers.
void hand_over(SyncObject& object) {
  if (object.first_waiter == nullptr) return;
  if (object.first_waiter->wake_request == kWrite) {
    if (object.depth == 0) object.owner = wake_one(object);
    return;
  }
  Thread* waiter = object.first_waiter;
  while (waiter != nullptr) {
    Thread* next = waiter->next_waiter;
    if (waiter->wake_request == kRead) {
      remove_waiter(object, waiter);
      ++object.depth;
      wake(waiter);
    }
    waiter = next;
  }
}

}  // namespace

void begin_use(SyncObject& lock) {
  if (!recording()) return;
  end_turn_if_contended(lock.users);
  note_use(lock.users);
}

// ---- Mutexes --------------------------------------------------------------------------------

SyncObject& mutex_at(pthread_mutex_t* mutex) {
  SyncObject& object = object_at(mutex, ObjectKind::kMutex);
  if ((mutex->__data.__kind & kRobustBit) != 0 && !object.robust) {
    object.robust = true;
    note_robust();
  }
  return object;
}

int lock_object(SyncObject& object, const char* what, std::uint64_t deadline) {
  if (object.owner == nullptr) {
    object.owner = self;
    object.depth = 1;
  } else if (!wait_at(object, what, deadline)) {
    return ETIMEDOUT;
  }
  return acquired(object);
}

int lock_mutex(pthread_mutex_t* mutex, std::uint64_t deadline) {
  SyncObject& object = mutex_at(mutex);
  begin_use(object);
  if (object.owner == self) {
    if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP) {
      ++object.depth;
      return 0;
    }
    if (type_of(mutex) == PTHREAD_MUTEX_ERRORCHECK_NP) return EDEADLK;
  }
  return lock_object(object, "the mutex", deadline);
}

int try_lock_mutex(pthread_mutex_t* mutex) {
  SyncObject& object = mutex_at(mutex);
  begin_use(object);
  if (object.owner == nullptr) return lock_object(object, "the mutex", 0);
  if (object.owner == self && type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP) {
    ++object.depth;
    return 0;
  }
  return EBUSY;
}

void unlock_object(SyncObject& object) {
  record_release(SyncKind::kMutexUnlock, object);
  object.owner = wake_one(object);
  object.depth = object.owner != nullptr ? 1 : 0;
}

int unlock_mutex(pthread_mutex_t* mutex) {
  SyncObject& object = mutex_at(mutex);
  const bool checked = type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP ||
                       type_of(mutex) == PTHREAD_MUTEX_ERRORCHECK_NP || object.robust;
  if (checked && object.owner != self) return EPERM;
  if (object.owner == nullptr) return 0;
  if (object.depth > 1) {
    --object.depth;
    return 0;
  }
  unlock_object(object);
  return 0;
}

// ---- Reader-writer locks ----------------------------------------------------------------------

SyncObject& rwlock_at(pthread_rwlock_t* lock) {
  return object_at(lock, ObjectKind::kReadWriteLock);
}

// Readers overtake waiting writers, as in the C library, so that read locks can nest.
int read_lock(SyncObject& object, bool may_wait, std::uint64_t deadline) {
  begin_use(object);
  if (object.owner == self) return EDEADLK;
  if (object.owner == nullptr) {
    ++object.depth;
  } else {
    if (!may_wait) return EBUSY;
    self->wake_request = kRead;
    if (!wait_at(object, "the reader-writer lock (to read)", deadline)) return ETIMEDOUT;
  }
  return record_read_lock(object);
}

int write_lock(SyncObject& object, bool may_wait, std::uint64_t deadline) {
  begin_use(object);
  if (object.owner == self) return may_wait ? EDEADLK : EBUSY;
  if (object.owner == nullptr && object.depth == 0) {
    object.owner = self;
  } else {
    if (!may_wait) return EBUSY;
    self->wake_request = kWrite;
    if (!wait_at(object, "the reader-writer lock (to write)", deadline)) return ETIMEDOUT;
  }
  return record_write_lock(object);
}

int unlock_rwlock(SyncObject& object) {
  if (object.owner != nullptr) {
    record_release(SyncKind::kWriteUnlock, object);
    object.owner = nullptr;
  } else if (object.depth > 0) {
    record_release(SyncKind::kReadUnlock, object);
    --object.depth;
  } else {
    return EPERM;
  }
  if (object.depth == 0) hand_over(object);
  return 0;
}

}  // namespace pmemsim::rt
