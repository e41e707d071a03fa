// Objects, other than locks, at which threads wait for each other: condition variables, barriers,
// semaphores, futexes. Deadlines are in virtual nanoseconds; 0: none.
#pragma once

#include <cstdint>
#include <ctime>

#include <pthread.h>
#include <semaphore.h>

#include "objects.hpp"

namespace pmemsim::rt {

// These two return what pthread_cond_wait() and pthread_barrier_wait() do.
int condition_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::uint64_t deadline);
int barrier_wait(pthread_barrier_t* barrier);

// These return -1 and set errno, as sem_wait() does, if they fail.
SyncObject& semaphore_at(sem_t* semaphore);
int semaphore_wait(sem_t* semaphore, bool may_wait, std::uint64_t deadline);
int semaphore_post(sem_t* semaphore);

// The futex system call, used by std::atomic::wait and by locks that libraries implement. The
// atomic accesses around it carry the order, so futexes leave no records. `handled`: false if the
// runtime doesn't handle the operation.
long futex_call(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout,
                std::uint32_t* second, bool* handled);

}  // namespace pmemsim::rt
