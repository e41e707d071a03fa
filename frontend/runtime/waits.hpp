// What threads wait at for each other, other than locks: condition variables, barriers, semaphores,
// futexes. Deadlines are in virtual nanoseconds; 0: none.
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

// -1 and errno, as sem_wait(), if it fails.
SyncObject& semaphore_at(sem_t* semaphore);
int semaphore_wait(sem_t* semaphore, bool may_wait, std::uint64_t deadline);
int semaphore_post(sem_t* semaphore);

// The system call, of std::atomic::wait and of locks that libraries build themselves. The atomic
// accesses around carry the order, so futexes leave no records. `handled`: false if it is an
// operation that concerns nobody here.
long futex_call(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout,
                std::uint32_t* second, bool* handled);

}  // namespace pmemsim::rt
