// The C library's functions underneath those that the runtime replaces.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

namespace pmemsim::rt {

// clang-format off: it would indent each call deeper than the one before
#define PMEMSIM_REAL_FUNCTIONS(F)                                                                 \
  F(pthread_create) F(pthread_join) F(pthread_detach) F(pthread_cancel) F(pthread_testcancel)     \
  F(pthread_tryjoin_np) F(pthread_timedjoin_np) F(pthread_mutex_init) F(pthread_mutex_destroy)    \
  F(pthread_mutex_lock) F(pthread_mutex_trylock) F(pthread_mutex_timedlock)                       \
  F(pthread_mutex_clocklock) F(pthread_mutex_unlock) F(pthread_mutex_consistent)                  \
  F(pthread_cond_init) F(pthread_cond_destroy) F(pthread_cond_wait) F(pthread_cond_timedwait)     \
  F(pthread_cond_clockwait) F(pthread_cond_signal) F(pthread_cond_broadcast)                      \
  F(pthread_rwlock_init) F(pthread_rwlock_destroy) F(pthread_rwlock_rdlock)                       \
  F(pthread_rwlock_tryrdlock) F(pthread_rwlock_timedrdlock) F(pthread_rwlock_clockrdlock)         \
  F(pthread_rwlock_wrlock) F(pthread_rwlock_trywrlock) F(pthread_rwlock_timedwrlock)              \
  F(pthread_rwlock_clockwrlock) F(pthread_rwlock_unlock) F(pthread_barrier_init)                  \
  F(pthread_barrier_destroy) F(pthread_barrier_wait) F(pthread_spin_init) F(pthread_spin_destroy) \
  F(pthread_spin_lock) F(pthread_spin_trylock) F(pthread_spin_unlock) F(pthread_once) F(sem_init) \
  F(sem_destroy) F(sem_wait) F(sem_trywait) F(sem_timedwait) F(sem_clockwait) F(sem_post)         \
  F(sem_getvalue) F(sched_yield) F(sleep) F(usleep) F(nanosleep) F(clock_nanosleep)               \
  F(clock_gettime) F(gettimeofday) F(time) F(poll) F(ppoll) F(select) F(read) F(write) F(accept)  \
  F(accept4) F(recv) F(recvfrom) F(recvmsg) F(send) F(sendto) F(sendmsg) F(sendmmsg) F(epoll_wait) F(waitpid) F(exit) F(_exit) F(_Exit)    \
  F(quick_exit) F(sigaction) F(signal) F(sigprocmask) F(pthread_sigmask) F(sigaltstack)           \
  F(sched_setaffinity) F(sched_getaffinity) F(pthread_setaffinity_np) F(pthread_getaffinity_np)   \
  F(sched_getcpu) F(getcpu) F(posix_spawn) F(posix_spawnp) F(system) F(popen) F(wait4) F(waitid)  \
  F(sigwait) F(sigtimedwait) F(flock) F(thrd_create) F(thrd_join) F(thrd_detach) F(thrd_sleep)    \
  F(mtx_init) F(mtx_lock) F(mtx_trylock) F(mtx_timedlock) F(mtx_unlock) F(cnd_wait)               \
  F(cnd_timedwait) F(execve) F(execvpe) F(fsync) F(fdatasync) F(pwrite) F(writev) F(pwritev)      \
  F(pwritev2) F(vdprintf) F(fdopen) F(fileno) F(qsort) F(qsort_r) F(bsearch)
// clang-format on

// Functions such as pthread_cond_clockwait are declared where the C library has them (glibc 2.30).
struct RealFunctions {
#define PMEMSIM_DECLARE(name) decltype(&::name) name;
  PMEMSIM_REAL_FUNCTIONS(PMEMSIM_DECLARE)
#undef PMEMSIM_DECLARE
  long (*syscall)(long, ...);
};
extern RealFunctions real;

// Looks up the functions; must run before any other code of the runtime.
void find_real_functions();

}  // namespace pmemsim::rt
