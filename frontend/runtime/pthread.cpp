// The C library's functions for threads, locks, condition variables, barriers, semaphores and
// futexes, as the recorded program calls them. The runtime's versions replace them (also for
// libstdc++, whose calls resolve to the executable) and never block the real thread except for its
// turn. The implementations are in locks.hpp, waits.hpp and threads.hpp. This file has only the
// common part of every call, and the clock of each deadline.
#include <cerrno>
#include <cstdarg>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exported.hpp"
#include "file_data.hpp"
#include "locks.hpp"
#include "objects.hpp"
#include "once.h"
#include "openmp.hpp"
#include "openmp_library.hpp"
#include "persistent.hpp"
#include "pmemsim_rt.h"
#include "real.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "threads.hpp"
#include "virtual_clock.hpp"
#include "waits.hpp"

using namespace pmemsim::rt;

// Calls the real function unless the program is being recorded.
#define UNLESS_ACTIVE(name, ...) \
  if (!active()) return real.name(__VA_ARGS__)

// Hides the synchronisation from the recording if OpenMP's library has called the function.
#define UNRECORDED_IN_OPENMP const UnrecordedSync unrecorded(__builtin_return_address(0))

namespace {

using pmemsim::trace::SyncKind;

constexpr std::int64_t kSyncInstructions = 20;  // charged to the quantum for each call

// Charges a call to the thread's turn, as every replaced function does.
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
  note_foreign_openmp(__builtin_return_address(0));
  return charged(create_thread(handle, attributes, start, argument));
}
PMEMSIM_EXPORT int pthread_join(pthread_t handle, void** result) {
  UNLESS_ACTIVE(pthread_join, handle, result);
  return charged(join_thread(handle, result, true, 0));
}
PMEMSIM_EXPORT int pthread_tryjoin_np(pthread_t handle, void** result) noexcept {
  UNLESS_ACTIVE(pthread_tryjoin_np, handle, result);
  return charged(join_thread(handle, result, false, 0));
}
PMEMSIM_EXPORT int pthread_timedjoin_np(pthread_t handle, void** result, const timespec* until) {
  UNLESS_ACTIVE(pthread_timedjoin_np, handle, result, until);
  return charged(join_thread(handle, result, true, deadline_of(CLOCK_REALTIME, *until)));
}
PMEMSIM_EXPORT int pthread_detach(pthread_t handle) noexcept {
  UNLESS_ACTIVE(pthread_detach, handle);
  return detach_thread(handle);
}
PMEMSIM_EXPORT int pthread_cancel(pthread_t handle) {
  UNLESS_ACTIVE(pthread_cancel, handle);
  return cancel_thread(handle);
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
  UNRECORDED_IN_OPENMP;
  return charged(lock_mutex(mutex, 0));
}
PMEMSIM_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  UNLESS_ACTIVE(pthread_mutex_trylock, mutex);
  UNRECORDED_IN_OPENMP;
  return charged(try_lock_mutex(mutex));
}
PMEMSIM_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_mutex_timedlock, mutex, until);
  return charged(lock_mutex(mutex, deadline_of(CLOCK_REALTIME, *until)));
}
PMEMSIM_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) noexcept {
  UNLESS_ACTIVE(pthread_mutex_clocklock, mutex, clock, until);
  return charged(lock_mutex(mutex, deadline_of(clock, *until)));
}
PMEMSIM_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  UNLESS_ACTIVE(pthread_mutex_unlock, mutex);
  UNRECORDED_IN_OPENMP;
  const int result = charged(unlock_mutex(mutex));
  if (unrecorded.applies()) run_woken();
  return result;
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
  return 0;  // no thread has ever waited at the C library's own object
}
PMEMSIM_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  UNLESS_ACTIVE(pthread_cond_wait, condition, mutex);
  UNRECORDED_IN_OPENMP;
  return charged(condition_wait(condition, mutex, 0));
}
PMEMSIM_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          const timespec* until) {
  UNLESS_ACTIVE(pthread_cond_timedwait, condition, mutex, until);
  UNRECORDED_IN_OPENMP;
  return charged(condition_wait(condition, mutex, deadline_of(clock_of(condition), *until)));
}
PMEMSIM_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          clockid_t clock, const timespec* until) {
  UNLESS_ACTIVE(pthread_cond_clockwait, condition, mutex, clock, until);
  return charged(condition_wait(condition, mutex, deadline_of(clock, *until)));
}
PMEMSIM_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  UNLESS_ACTIVE(pthread_cond_signal, condition);
  UNRECORDED_IN_OPENMP;
  SyncObject& object = object_at(condition, ObjectKind::kCondition);
  record_release(SyncKind::kConditionSignal, object);
  Thread* woken = wake_one(object);
  if (unrecorded.applies()) note_woken(woken);
  return charged(0);
}
PMEMSIM_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  UNLESS_ACTIVE(pthread_cond_broadcast, condition);
  UNRECORDED_IN_OPENMP;
  SyncObject& object = object_at(condition, ObjectKind::kCondition);
  record_release(SyncKind::kConditionSignal, object);
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
  SyncObject& object = object_at(lock, ObjectKind::kMutex);
  begin_use(object);
  return charged(lock_object(object, "the spin lock", 0));
}
PMEMSIM_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  UNLESS_ACTIVE(pthread_spin_trylock, lock);
  SyncObject& object = object_at(lock, ObjectKind::kMutex);
  begin_use(object);
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
  UNRECORDED_IN_OPENMP;
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
  UNRECORDED_IN_OPENMP;
  return charged(semaphore_post(semaphore));
}
PMEMSIM_EXPORT int sem_getvalue(sem_t* semaphore, int* value) noexcept {
  UNLESS_ACTIVE(sem_getvalue, semaphore, value);
  *value = static_cast<int>(semaphore_at(semaphore).count);
  return 0;
}

PMEMSIM_EXPORT int pthread_once(pthread_once_t* control, void (*routine)()) {
  if (!active() || *control == 2) return real.pthread_once(control, routine);
  // Another thread's initialisation may be in progress; the real function would block.
  SyncObject& object = object_at(control, ObjectKind::kOnce);
  if (object.owner != nullptr && object.owner != self) wait_at(object, "the initialisation", 0);
  object.owner = self;
  return pmemsim_rt_call_once(real.pthread_once, control, routine);
}
// Called also when the routine throws.
void pmemsim_rt_once_over(pthread_once_t* const* control) {
  active();  // takes the token
  SyncObject& object = object_at(*control, ObjectKind::kOnce);
  object.owner = wake_one(object);
}

PMEMSIM_EXPORT int sched_yield() noexcept {
  UNLESS_ACTIVE(sched_yield, );
  if (is_openmp(__builtin_return_address(0))) wait_for_tasks();
  yield();
  return 0;
}

PMEMSIM_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& value : a) value = va_arg(list, long);
  va_end(list);
  long mapped = 0;
  if (call_mapping(number, a, &mapped) || call_file(number, a, &mapped)) return mapped;
  if (number == SYS_futex && active()) {
    bool handled = false;
    const long result =
        futex_call(reinterpret_cast<std::uint32_t*>(a[0]), static_cast<int>(a[1]),
                   static_cast<std::uint32_t>(a[2]), reinterpret_cast<const timespec*>(a[3]),
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
