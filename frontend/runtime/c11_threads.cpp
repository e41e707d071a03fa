// C11's threads, mutexes and condition variables, implemented by the runtime's versions of the
// POSIX functions. The C library's own C11 functions would not call these versions. The underlying
// types are the same.
#include <cerrno>
#include <cstdint>

#include <pthread.h>
#include <threads.h>

#include "exported.hpp"
#include "real.hpp"
#include "scheduler.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int c11_result(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    default:
      return thrd_error;
  }
}

// The function and the argument of a C11 thread; the new thread copies them from its creator.
struct Start {
  thrd_start_t function;
  void* argument;
  bool taken;
};

void* run_c11_thread(void* start) {
  auto* given = static_cast<Start*>(start);
  const Start own = *given;
  given->taken = true;
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(own.function(own.argument)));
}

}  // namespace
}  // namespace pmemsim::rt

using namespace pmemsim::rt;

#define UNLESS_ACTIVE(name, ...) \
  if (!active()) return real.name(__VA_ARGS__)

PMEMSIM_EXPORT int thrd_create(thrd_t* handle, thrd_start_t function, void* argument) {
  UNLESS_ACTIVE(thrd_create, handle, function, argument);
  Start start{function, argument, false};
  const int error = pthread_create(handle, nullptr, &run_c11_thread, &start);
  while (error == 0 && !start.taken) yield();
  return c11_result(error);
}
PMEMSIM_EXPORT int thrd_join(thrd_t handle, int* result) {
  UNLESS_ACTIVE(thrd_join, handle, result);
  void* value = nullptr;
  const int error = pthread_join(handle, &value);
  if (error == 0 && result != nullptr) {
    *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  }
  return c11_result(error);
}
PMEMSIM_EXPORT int thrd_detach(thrd_t handle) {
  UNLESS_ACTIVE(thrd_detach, handle);
  return c11_result(pthread_detach(handle));
}
PMEMSIM_EXPORT void thrd_yield() { sched_yield(); }
PMEMSIM_EXPORT int thrd_sleep(const timespec* time, timespec* left) {
  UNLESS_ACTIVE(thrd_sleep, time, left);
  return nanosleep(time, left);
}

PMEMSIM_EXPORT int mtx_init(mtx_t* mutex, int type) {
  if (active()) pthread_mutex_init(posix(mutex), nullptr);  // forgets the object at the address
  return real.mtx_init(mutex, type);
}
PMEMSIM_EXPORT void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(posix(mutex)); }
PMEMSIM_EXPORT int mtx_lock(mtx_t* mutex) {
  UNLESS_ACTIVE(mtx_lock, mutex);
  return c11_result(pthread_mutex_lock(posix(mutex)));
}
PMEMSIM_EXPORT int mtx_trylock(mtx_t* mutex) {
  UNLESS_ACTIVE(mtx_trylock, mutex);
  return c11_result(pthread_mutex_trylock(posix(mutex)));
}
PMEMSIM_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  UNLESS_ACTIVE(mtx_timedlock, mutex, until);
  return c11_result(pthread_mutex_timedlock(posix(mutex), until));
}
PMEMSIM_EXPORT int mtx_unlock(mtx_t* mutex) {
  UNLESS_ACTIVE(mtx_unlock, mutex);
  return c11_result(pthread_mutex_unlock(posix(mutex)));
}

PMEMSIM_EXPORT int cnd_init(cnd_t* condition) {
  return c11_result(pthread_cond_init(posix(condition), nullptr));
}
PMEMSIM_EXPORT void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(posix(condition)); }
PMEMSIM_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  UNLESS_ACTIVE(cnd_wait, condition, mutex);
  return c11_result(pthread_cond_wait(posix(condition), posix(mutex)));
}
PMEMSIM_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  UNLESS_ACTIVE(cnd_timedwait, condition, mutex, until);
  return c11_result(pthread_cond_timedwait(posix(condition), posix(mutex), until));
}
PMEMSIM_EXPORT int cnd_signal(cnd_t* condition) {
  return c11_result(pthread_cond_signal(posix(condition)));
}
PMEMSIM_EXPORT int cnd_broadcast(cnd_t* condition) {
  return c11_result(pthread_cond_broadcast(posix(condition)));
}
PMEMSIM_EXPORT void call_once(once_flag* flag, void (*function)()) {
  pthread_once(reinterpret_cast<pthread_once_t*>(flag), function);
}
