// Mutexes and reader-writer locks. Since only the holder of the token runs, a lock is an entry in
// its object: the owner and the waiting threads.
//
// A lock that is released while other threads wait goes to the first of them. (If the owner could
// acquire it again at once, the threads' critical sections would not interleave.)
//
// Functions that return an int return an error number, as pthread_mutex_lock() does. Deadlines are
// in virtual nanoseconds; 0: none.
#pragma once

#include <cstdint>

#include <pthread.h>

#include "objects.hpp"

namespace pmemsim::rt {

// Announces that the calling thread is about to request the lock; other threads may run first
// (contention.hpp).
void begin_use(SyncObject& lock);

SyncObject& mutex_at(pthread_mutex_t* mutex);
int lock_mutex(pthread_mutex_t* mutex, std::uint64_t deadline);
int try_lock_mutex(pthread_mutex_t* mutex);
int unlock_mutex(pthread_mutex_t* mutex);

// Locks an object regardless of its type or owner; spin locks use it, too. `what` is for messages.
int lock_object(SyncObject& object, const char* what, std::uint64_t deadline);
// Never yields, so that a condition variable's wait is atomic.
void unlock_object(SyncObject& object);

SyncObject& rwlock_at(pthread_rwlock_t* lock);
int read_lock(SyncObject& object, bool may_wait, std::uint64_t deadline);
int write_lock(SyncObject& object, bool may_wait, std::uint64_t deadline);
int unlock_rwlock(SyncObject& object);

}  // namespace pmemsim::rt
