// Locks, condition variables, barriers, semaphores, futexes and threads, as the recorded program
// sees them. Since only the holder of the token runs, a lock is a note in a table: these functions
// replace the C library's (also for libstdc++, whose calls resolve to the executable) and never
// block for real.
//
// A lock that is given free while others wait is handed to the first of them. (If the owner could
// take it again at once, threads would run one after the other, not side by side.)
#include <cerrno>
#include <climits>
#include <cstdarg>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.hpp"
#include "objects.hpp"
#include "once.h"
#include "real.hpp"
#include "runtime.hpp"

namespace pmemsim::rt {
namespace {

using trace::SyncKind;

constexpr std::int64_t kSyncInstructions = 20;  // of the quantum, for a call of these functions

int cancel_state() {
  int state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, nullptr);
  return state;
}

void cancellation_point() {
  if (self->cancelled && cancel_state() == PTHREAD_CANCEL_ENABLE) {
    self->cancelled = false;
    pthread_exit(PTHREAD_CANCELED);
  }
}

// As wait_at(), and pthread_cancel() ends it.
bool cancellable_wait_at(SyncObject& object, const char* what, std::uint64_t deadline) {
  cancellation_point();
  self->cancellable = true;
  const bool woken = wait_at(object, what, deadline);
  self->cancellable = false;
  return woken;
}

// ---- Mutexes --------------------------------------------------------------------------------

// In the C library's __kind; the lowest bits are the type.
constexpr int kRobustBit = 0x10;

SyncObject& mutex_at(pthread_mutex_t* mutex) {
  SyncObject& object = object_at(mutex, ObjectKind::kMutex);
  if ((mutex->__data.__kind & kRobustBit) != 0 && !object.robust) {
    object.robust = true;
    note_robust();
  }
  return object;
}

int type_of(const pthread_mutex_t* mutex) { return mutex->__data.__kind & 3; }

int acquired(SyncObject& object) {
  record_acquire(SyncKind::kMutexLock, object);
  if (!object.owner_died) return 0;
  object.owner_died = false;
  return EOWNERDEAD;
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

int lock(pthread_mutex_t* mutex, std::uint64_t deadline) {
  SyncObject& object = mutex_at(mutex);
  if (object.owner == self) {
    if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP) {
      ++object.depth;
      return 0;
    }
    if (type_of(mutex) == PTHREAD_MUTEX_ERRORCHECK_NP) return EDEADLK;
  }
  return lock_object(object, "the mutex", deadline);
}

int try_lock(pthread_mutex_t* mutex) {
  SyncObject& object = mutex_at(mutex);
  if (object.owner == nullptr) return lock_object(object, "the mutex", 0);
  if (object.owner == self && type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP) {
    ++object.depth;
    return 0;
  }
  return EBUSY;
}

// Never yields, so that a condition variable's wait is atomic.
void unlock_object(SyncObject& object) {
  record_release(SyncKind::kMutexUnlock, object);
  object.owner = wake_one(object);
  object.depth = object.owner != nullptr ? 1 : 0;
}

int unlock(pthread_mutex_t* mutex) {
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

// ---- Condition variables ----------------------------------------------------------------------

int condition_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::uint64_t deadline) {
  SyncObject& object = object_at(condition, ObjectKind::kCondition);
  cancellation_point();
  if (const int error = unlock(mutex)) return error;
  const bool woken = cancellable_wait_at(object, "the condition variable", deadline);
  if (woken && !self->cancelled) {
    record_acquire(SyncKind::kWait, object, number(object), self->wake_version);
  }
  const int error = lock(mutex, 0);
  cancellation_point();
  return error != 0 ? error : woken ? 0 : ETIMEDOUT;
}

// ---- Reader-writer locks ----------------------------------------------------------------------

constexpr std::uint32_t kRead = 0, kWrite = 1;

SyncObject& rwlock_at(pthread_rwlock_t* lock) {
  return object_at(lock, ObjectKind::kReadWriteLock);
}

int record_read_lock(SyncObject& object) {
  record_acquire(SyncKind::kReadLock, object);
  return 0;
}

int record_write_lock(SyncObject& object) {
  record_acquire(SyncKind::kWriteLock, object);
  // No address: the readers' count isn't a lock of its own.
  if (recording()) {
    put_sync(SyncKind::kWriteLock, nullptr, object.companion.number, object.companion.version);
  }
  return 0;
}

// Readers go ahead of waiting writers, as in the C library, so that read locks can nest.
int read_lock(SyncObject& object, bool may_wait, std::uint64_t deadline) {
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

// To the first waiter; if that is a reader, to all readers.
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

// ---- Barriers -------------------------------------------------------------------------------

int barrier_wait(pthread_barrier_t* barrier) {
  SyncObject& object = object_at(barrier, ObjectKind::kBarrier);
  record_release(SyncKind::kSignal, object);
  const bool last = ++object.arrived == object.count;
  if (last) {
    object.arrived = 0;
    self->wake_version = object.numbered.version;
    wake_all(object);
  } else {
    wait_at(object, "the other threads at the barrier", 0);
  }
  if (recording()) {
    record_acquire(SyncKind::kWait, object, number(object), self->wake_version);
  }
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

// ---- Semaphores -----------------------------------------------------------------------------

// A post is needed only by those waits that the value at the trace's begin doesn't cover; the n-th
// of them waits for the n-th post.
SyncObject& semaphore_at(sem_t* semaphore) {
  SyncObject& object = object_at(semaphore, ObjectKind::kSemaphore);
  if (object.arrived == 0) {  // not seen before
    int value = 0;
    real.sem_getvalue(semaphore, &value);
    object.count = static_cast<std::uint32_t>(value);
    object.arrived = 1;
  }
  return object;
}

// Before the semaphore's value changes, so that `spare` gets the value at the trace's begin.
void number_semaphore(SyncObject& object) {
  if (recording()) number(object);
}

void record_semaphore_wait(SyncObject& object) {
  if (!recording()) return;
  if (object.spare > 0) {
    --object.spare;
    record_acquire(SyncKind::kWait, object, object.numbered, 0);
  } else {
    record_acquire(SyncKind::kWait, object, object.numbered, ++object.companion.version);
  }
}

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
  record_release(SyncKind::kSignal, object);
  if (wake_one(object) == nullptr) ++object.count;
  return 0;
}

// ---- Futexes (std::atomic::wait, and locks that libraries build themselves) ---------------------

// The atomic accesses around carry the order, so futexes leave no records.
long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout,
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

// ---- Threads --------------------------------------------------------------------------------

constexpr std::size_t kDefaultStackBytes = std::size_t{8} << 20;

Map<Thread*> thread_of_handle;
pthread_key_t end_key;

// The program has no more use for the thread, so that its handle and stack may be used again.
void forget_thread(Thread* thread) {
  thread_of_handle[thread->handle] = nullptr;
  if (thread->stack != nullptr) return_stack(thread->stack, thread->stack_bytes);
}

// The last thing a thread does, after the destructors of its thread-local variables: a key's
// destructor runs again as long as it sets the key, up to PTHREAD_DESTRUCTOR_ITERATIONS times.
void thread_ends(void* value) {
  if (++self->ending < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(end_key, value);
    return;
  }
  active();  // with the token
  release_robust_mutexes();
  record_release(SyncKind::kSignal, *self->object);
  // As the C library does, which counts the runtime's own threads, too.
  if (only_thread()) exit(0);
  stop_recording_of_thread();
  wake_all(*self->object);
  end_thread();
  self = nullptr;
}

void* thread_begins(void* argument) {
  self = static_cast<Thread*>(argument);
  self->kernel_id = gettid();
  self->hot = &hot;
  await_turn();
  install_alternate_stack();
  pthread_setspecific(end_key, self);
  record_acquire(SyncKind::kWait, *self->object);
  return self->start(self->argument);
}

int create_thread(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                  void* argument) {
  start_watchdog();  // before it would have to share the processor
  share_processor();
  Thread* thread = add_thread();
  thread->start = start;
  thread->argument = argument;
  thread->object = &new_thread_object();
  thread->state = State::kRunnable;

  pthread_attr_t own;
  pthread_attr_init(&own);
  std::size_t stack_bytes = kDefaultStackBytes;
  void* users_stack = nullptr;
  if (attributes != nullptr) {
    int detached = PTHREAD_CREATE_JOINABLE;
    pthread_attr_getdetachstate(attributes, &detached);
    thread->detached = detached == PTHREAD_CREATE_DETACHED;
    std::size_t asked = 0;
    pthread_attr_getstack(attributes, &users_stack, &asked);
    // Without one, the C library reports an end of zero.
    if (reinterpret_cast<std::uintptr_t>(users_stack) + asked == 0) users_stack = nullptr;
    std::size_t size = 0;
    pthread_attr_getstacksize(attributes, &size);
    if (size > kDefaultStackBytes) stack_bytes = (size + 0xfffff) & ~std::size_t{0xfffff};
    if (users_stack != nullptr) pthread_attr_setstack(&own, users_stack, asked);
  }
  if (users_stack == nullptr) {
    thread->stack = take_stack(stack_bytes);
    thread->stack_bytes = stack_bytes;
    pthread_attr_setstack(&own, thread->stack, stack_bytes);
  }
  int error = 0;
  {
    const Waiting waits;  // maybe for the C library's locks
    error = real.pthread_create(&thread->handle, &own, &thread_begins, thread);
  }
  pthread_attr_destroy(&own);
  if (error != 0) {
    drop_last_thread();
    return error;
  }
  *handle = thread->handle;
  thread->object->address = reinterpret_cast<const volatile void*>(thread->handle);
  thread_of_handle[thread->handle] = thread;
  record_release(SyncKind::kSignal, *thread->object);
  return 0;
}

int join(pthread_t handle, void** result, bool may_wait, std::uint64_t deadline) {
  Thread* thread = find_thread(handle);
  if (thread == nullptr) return ESRCH;
  if (thread == self) return EDEADLK;
  if (thread->detached) return EINVAL;
  if (thread->state != State::kEnded) {
    if (!may_wait) return EBUSY;
    if (!cancellable_wait_at(*thread->object, "the end of a thread", deadline)) return ETIMEDOUT;
    cancellation_point();
  }
  record_acquire(SyncKind::kWait, *thread->object);
  if (result != nullptr) *result = thread->result;
  forget_thread(thread);
  return 0;
}

}  // namespace

Thread* find_thread(pthread_t handle) {
  Thread** found = thread_of_handle.find(handle);
  return found != nullptr ? *found : nullptr;
}

void reap(Thread* thread) {
  if (thread->index == 0) return;  // main's end is the program's business
  real.pthread_join(thread->handle, &thread->result);
  if (thread->detached) forget_thread(thread);
}

void attach_main_thread() {
  self = add_thread();
  self->kernel_id = gettid();
  self->hot = &hot;
  self->handle = pthread_self();
  self->object = &new_thread_object();
  self->object->address = reinterpret_cast<const volatile void*>(self->handle);
  thread_of_handle[self->handle] = self;
  pthread_key_create(&end_key, &thread_ends);
  pthread_setspecific(end_key, self);
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// Calls the real function unless the program is being recorded.
#define UNLESS_ACTIVE(name, ...) \
  if (!active()) return real.name(__VA_ARGS__)

namespace {

// Every replaced function counts towards the thread's turn.
int charged(int result) {
  const int error = errno;
  charge(kSyncInstructions);
  errno = error;
  return result;
}

}  // namespace

PMEMSIM_EXPORT int pthread_create(pthread_t* handle, const pthread_attr_t* attributes,
                                  void* (*start)(void*), void* argument) noexcept {
  UNLESS_ACTIVE(pthread_create, handle, attributes, start, argument);
  return charged(create_thread(handle, attributes, start, argument));
}
PMEMSIM_EXPORT int pthread_join(pthread_t handle, void** result) {
  UNLESS_ACTIVE(pthread_join, handle, result);
  return charged(join(handle, result, true, 0));
}
PMEMSIM_EXPORT int pthread_tryjoin_np(pthread_t handle, void** result) noexcept {
  UNLESS_ACTIVE(pthread_tryjoin_np, handle, result);
  return charged(join(handle, result, false, 0));
}
PMEMSIM_EXPORT int pthread_timedjoin_np(pthread_t handle, void** result, const timespec* until) {
  UNLESS_ACTIVE(pthread_timedjoin_np, handle, result, until);
  return charged(join(handle, result, true, deadline_of(CLOCK_REALTIME, *until)));
}
PMEMSIM_EXPORT int pthread_detach(pthread_t handle) noexcept {
  UNLESS_ACTIVE(pthread_detach, handle);
  Thread* thread = find_thread(handle);
  if (thread == nullptr) return ESRCH;
  if (thread->detached) return EINVAL;
  thread->detached = true;
  if (thread->state == State::kEnded) forget_thread(thread);
  return 0;
}
PMEMSIM_EXPORT int pthread_cancel(pthread_t handle) {
  UNLESS_ACTIVE(pthread_cancel, handle);
  Thread* thread = find_thread(handle);
  if (thread == nullptr) return ESRCH;
  thread->cancelled = true;
  if (thread->cancellable && thread->state == State::kBlocked) {
    if (thread->waits_at != nullptr) remove_waiter(*thread->waits_at, thread);
    wake(thread);
  }
  return 0;
}
PMEMSIM_EXPORT void pthread_testcancel() {
  if (!active()) {
    real.pthread_testcancel();
  } else {
    cancellation_point();
  }
}

PMEMSIM_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex,
                                      const pthread_mutexattr_t* attributes) noexcept {
  if (active()) forget_object(mutex);
  return real.pthread_mutex_init(mutex, attributes);
}
PMEMSIM_EXPORT int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept {
  UNLESS_ACTIVE(pthread_mutex_destroy, mutex);
  if (mutex_at(mutex).owner != nullptr) return EBUSY;
  forget_object(mutex);
  return real.pthread_mutex_destroy(mutex);
}
PMEMSIM_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  UNLESS_ACTIVE(pthread_mutex_lock, mutex);
  return charged(lock(mutex, 0));
}
PMEMSIM_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  UNLESS_ACTIVE(pthread_mutex_trylock, mutex);
  return charged(try_lock(mutex));
}
PMEMSIM_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_mutex_timedlock, mutex, until);
  return charged(lock(mutex, deadline_of(CLOCK_REALTIME, *until)));
}
PMEMSIM_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_mutex_clocklock, mutex, clock, until);
  return charged(lock(mutex, deadline_of(clock, *until)));
}
PMEMSIM_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  UNLESS_ACTIVE(pthread_mutex_unlock, mutex);
  return charged(unlock(mutex));
}
PMEMSIM_EXPORT int pthread_mutex_consistent(pthread_mutex_t* mutex) noexcept {
  UNLESS_ACTIVE(pthread_mutex_consistent, mutex);
  return mutex_at(mutex).robust ? 0 : EINVAL;
}

PMEMSIM_EXPORT int pthread_cond_init(pthread_cond_t* condition,
                                     const pthread_condattr_t* attributes) noexcept {
  if (active()) {
    forget_object(condition);
    note_clock(condition, attributes);
  }
  return real.pthread_cond_init(condition, attributes);
}
PMEMSIM_EXPORT int pthread_cond_destroy(pthread_cond_t* condition) noexcept {
  UNLESS_ACTIVE(pthread_cond_destroy, condition);
  forget_object(condition);
  return 0;  // the real one was never waited at
}
PMEMSIM_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  UNLESS_ACTIVE(pthread_cond_wait, condition, mutex);
  return charged(condition_wait(condition, mutex, 0));
}
PMEMSIM_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          const timespec* until) {
  UNLESS_ACTIVE(pthread_cond_timedwait, condition, mutex, until);
  return charged(condition_wait(condition, mutex, deadline_of(clock_of(condition), *until)));
}
PMEMSIM_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          clockid_t clock, const timespec* until) {
  UNLESS_ACTIVE(pthread_cond_clockwait, condition, mutex, clock, until);
  return charged(condition_wait(condition, mutex, deadline_of(clock, *until)));
}
PMEMSIM_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  UNLESS_ACTIVE(pthread_cond_signal, condition);
  SyncObject& object = object_at(condition, ObjectKind::kCondition);
  record_release(SyncKind::kSignal, object);
  wake_one(object);
  return charged(0);
}
PMEMSIM_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  UNLESS_ACTIVE(pthread_cond_broadcast, condition);
  SyncObject& object = object_at(condition, ObjectKind::kCondition);
  record_release(SyncKind::kSignal, object);
  wake_all(object);
  return charged(0);
}

PMEMSIM_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock,
                                       const pthread_rwlockattr_t* attributes) noexcept {
  if (active()) forget_object(lock);
  return real.pthread_rwlock_init(lock, attributes);
}
PMEMSIM_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) noexcept {
  if (active()) forget_object(lock);
  return real.pthread_rwlock_destroy(lock);
}
PMEMSIM_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_rdlock, lock);
  return charged(read_lock(rwlock_at(lock), true, 0));
}
PMEMSIM_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_tryrdlock, lock);
  return charged(read_lock(rwlock_at(lock), false, 0));
}
PMEMSIM_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                              const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_timedrdlock, lock, until);
  return charged(read_lock(rwlock_at(lock), true, deadline_of(CLOCK_REALTIME, *until)));
}
PMEMSIM_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                              const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_clockrdlock, lock, clock, until);
  return charged(read_lock(rwlock_at(lock), true, deadline_of(clock, *until)));
}
PMEMSIM_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_wrlock, lock);
  return charged(write_lock(rwlock_at(lock), true, 0));
}
PMEMSIM_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_trywrlock, lock);
  return charged(write_lock(rwlock_at(lock), false, 0));
}
PMEMSIM_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                              const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_timedwrlock, lock, until);
  return charged(write_lock(rwlock_at(lock), true, deadline_of(CLOCK_REALTIME, *until)));
}
PMEMSIM_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                              const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_clockwrlock, lock, clock, until);
  return charged(write_lock(rwlock_at(lock), true, deadline_of(clock, *until)));
}
PMEMSIM_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_rwlock_unlock, lock);
  return charged(unlock_rwlock(rwlock_at(lock)));
}

PMEMSIM_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier,
                                        const pthread_barrierattr_t* attributes,
                                        unsigned count) noexcept {
  const int error = real.pthread_barrier_init(barrier, attributes, count);
  if (active() && error == 0) {
    forget_object(barrier);
    object_at(barrier, ObjectKind::kBarrier).count = count;
  }
  return error;
}
PMEMSIM_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  if (active()) forget_object(barrier);
  return real.pthread_barrier_destroy(barrier);
}
PMEMSIM_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  UNLESS_ACTIVE(pthread_barrier_wait, barrier);
  return charged(barrier_wait(barrier));
}

PMEMSIM_EXPORT int pthread_spin_init(pthread_spinlock_t* lock, int shared) noexcept {
  if (active()) forget_object(lock);
  return real.pthread_spin_init(lock, shared);
}
PMEMSIM_EXPORT int pthread_spin_destroy(pthread_spinlock_t* lock) noexcept {
  if (active()) forget_object(lock);
  return real.pthread_spin_destroy(lock);
}
PMEMSIM_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_spin_lock, lock);
  return charged(lock_object(object_at(lock, ObjectKind::kMutex), "the spin lock", 0));
}
PMEMSIM_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_spin_trylock, lock);
  SyncObject& object = object_at(lock, ObjectKind::kMutex);
  return charged(object.owner != nullptr ? EBUSY : lock_object(object, "the spin lock", 0));
}
PMEMSIM_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_spin_unlock, lock);
  SyncObject& object = object_at(lock, ObjectKind::kMutex);
  if (object.owner != nullptr) unlock_object(object);
  return charged(0);
}

PMEMSIM_EXPORT int sem_init(sem_t* semaphore, int shared, unsigned value) noexcept {
  if (active()) forget_object(semaphore);
  return real.sem_init(semaphore, shared, value);
}
PMEMSIM_EXPORT int sem_destroy(sem_t* semaphore) noexcept {
  if (active()) forget_object(semaphore);
  return real.sem_destroy(semaphore);
}
PMEMSIM_EXPORT int sem_wait(sem_t* semaphore) {
  UNLESS_ACTIVE(sem_wait, semaphore);
  return charged(semaphore_wait(semaphore, true, 0));
}
PMEMSIM_EXPORT int sem_trywait(sem_t* semaphore) noexcept {
  UNLESS_ACTIVE(sem_trywait, semaphore);
  return charged(semaphore_wait(semaphore, false, 0));
}
PMEMSIM_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  UNLESS_ACTIVE(sem_timedwait, semaphore, until);
  return charged(semaphore_wait(semaphore, true, deadline_of(CLOCK_REALTIME, *until)));
}
PMEMSIM_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  UNLESS_ACTIVE(sem_clockwait, semaphore, clock, until);
  return charged(semaphore_wait(semaphore, true, deadline_of(clock, *until)));
}
PMEMSIM_EXPORT int sem_post(sem_t* semaphore) noexcept {
  UNLESS_ACTIVE(sem_post, semaphore);
  return charged(semaphore_post(semaphore));
}
PMEMSIM_EXPORT int sem_getvalue(sem_t* semaphore, int* value) noexcept {
  UNLESS_ACTIVE(sem_getvalue, semaphore, value);
  *value = static_cast<int>(semaphore_at(semaphore).count);
  return 0;
}

PMEMSIM_EXPORT int pthread_once(pthread_once_t* control, void (*routine)()) {
  if (!active() || *control == 2) return real.pthread_once(control, routine);
  // Another thread's initialisation may be under way; the real function would block.
  SyncObject& object = object_at(control, ObjectKind::kOnce);
  if (object.owner != nullptr && object.owner != self) wait_at(object, "the initialisation", 0);
  object.owner = self;
  return pmemsim_rt_call_once(real.pthread_once, control, routine);
}
// Also when the routine throws.
void pmemsim_rt_once_over(pthread_once_t* const* control) {
  active();  // with the token
  SyncObject& object = object_at(*control, ObjectKind::kOnce);
  object.owner = wake_one(object);
}

PMEMSIM_EXPORT int sched_yield() noexcept {
  UNLESS_ACTIVE(sched_yield, );
  yield();
  return 0;
}

PMEMSIM_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& value : a) value = va_arg(list, long);
  va_end(list);
  if (number == SYS_futex && active()) {
    bool handled = false;
    const long result = pmemsim::rt::futex(reinterpret_cast<std::uint32_t*>(a[0]),
                                           static_cast<int>(a[1]), static_cast<std::uint32_t>(a[2]),
                                           reinterpret_cast<const timespec*>(a[3]),
                                           reinterpret_cast<std::uint32_t*>(a[4]), &handled);
    if (handled) {
      const int error = errno;
      charge(kSyncInstructions);
      errno = error;
      return result;
    }
  }
  return real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
