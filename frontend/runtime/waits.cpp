#include "waits.hpp"

#include <cerrno>

#include <linux/futex.h>

#include "locks.hpp"
#include "real.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "threads.hpp"
#include "virtual_clock.hpp"

namespace pmemsim::rt {

using trace::SyncKind;

// ---- Condition variables ----------------------------------------------------------------------

int condition_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::uint64_t deadline) {
  SyncObject& object = object_at(condition, ObjectKind::kCondition);
  cancellation_point();
  if (const int error = unlock_mutex(mutex)) return error;
  const bool woken = cancellable_wait_at(object, "the condition variable", deadline);
  if (woken && !self->cancelled) {
    record_acquire(SyncKind::kConditionWait, object, number(object), self->wake_version);
  }
  const int error = lock_mutex(mutex, 0);
  cancellation_point();
  return error != 0 ? error : woken ? 0 : ETIMEDOUT;
}

// ---- Barriers -------------------------------------------------------------------------------

int barrier_wait(pthread_barrier_t* barrier) {
  SyncObject& object = object_at(barrier, ObjectKind::kBarrier);
  record_release(SyncKind::kBarrierArrive, object);
  const bool last = ++object.arrived == object.count;
  if (last) {
    object.arrived = 0;
    self->wake_version = object.numbered.version;
    wake_all(object);
  } else {
    wait_at(object, "the other threads at the barrier", 0);
  }
  if (recording()) {
    record_acquire(SyncKind::kBarrierWait, object, number(object), self->wake_version);
  }
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

// ---- Semaphores -----------------------------------------------------------------------------

// Returns the semaphore at an address. The first `spare` waits need no post: as many as its value
// at the trace's begin. The n-th later wait needs the n-th post.
SyncObject& semaphore_at(sem_t* semaphore) {
  SyncObject& object = object_at(semaphore, ObjectKind::kSemaphore);
  if (object.arrived == 0) {  // the semaphore was not seen before
    int value = 0;
    real.sem_getvalue(semaphore, &value);
    object.count = static_cast<std::uint32_t>(value);
    object.arrived = 1;
  }
  return object;
}

namespace {

// Called before the semaphore's value changes, so that `spare` gets the value at the trace's begin.
void number_semaphore(SyncObject& object) {
  if (recording()) number(object);
}

void record_semaphore_wait(SyncObject& object) {
  if (!recording()) return;
  if (object.spare > 0) {
    --object.spare;
    record_acquire(SyncKind::kSemaphoreWait, object, object.numbered, 0);
  } else {
    record_acquire(SyncKind::kSemaphoreWait, object, object.numbered, ++object.companion.version);
  }
}

}  // namespace

int semaphore_wait(sem_t* semaphore, bool may_wait, std::uint64_t deadline) {
  SyncObject& object = semaphore_at(semaphore);
  number_semaphore(object);
  if (object.count > 0) {
    --object.count;
  } else if (!may_wait) {
    errno = EAGAIN;
    return -1;
  } else if (!cancellable_wait_at(object, "the semaphore", deadline)) {
    errno = ETIMEDOUT;
    return -1;
  }
  cancellation_point();
  record_semaphore_wait(object);
  return 0;
}

int semaphore_post(sem_t* semaphore) {
  SyncObject& object = semaphore_at(semaphore);
  number_semaphore(object);
  record_release(SyncKind::kSemaphorePost, object);
  if (wake_one(object) == nullptr) ++object.count;
  return 0;
}

// ---- Futexes --------------------------------------------------------------------------------

long futex_call(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout,
                std::uint32_t* second, bool* handled) {
  const int command = operation & FUTEX_CMD_MASK;
  *handled = true;
  switch (command) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      if (*word != value) {
        errno = EAGAIN;
        return -1;
      }
      std::uint64_t deadline = 0;
      if (timeout != nullptr && command == FUTEX_WAIT) deadline = now() + nanoseconds(*timeout);
      if (timeout != nullptr && command == FUTEX_WAIT_BITSET) {
        deadline = deadline_of(
            (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, *timeout);
      }
      if (wait_at(object_at(word, ObjectKind::kFutex), "a change of the atomic variable",
                  deadline)) {
        return 0;
      }
      errno = ETIMEDOUT;
      return -1;
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
      SyncObject& object = object_at(word, ObjectKind::kFutex);
      long woken = 0;
      while (woken < static_cast<long>(value) && wake_one(object) != nullptr) ++woken;
      return woken;
    }
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE: {
      SyncObject& from = object_at(word, ObjectKind::kFutex);
      long woken = 0;
      while (woken < static_cast<long>(value) && wake_one(from) != nullptr) ++woken;
      while (Thread* thread = dequeue(from)) {
        SyncObject& to = object_at(second, ObjectKind::kFutex);
        enqueue(to, thread);
        thread->waits_at = &to;
        ++woken;
      }
      return woken;
    }
    default:
      *handled = false;
      return 0;
  }
}

}  // namespace pmemsim::rt
