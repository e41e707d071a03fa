// Mutexes and reader-writer locks. Since only the holder of the token runs, a lock is a note in its
// object: who has it, and who waits.
//
// A lock that is given free while others wait is handed to the first of them. (If the owner could
// take it again at once, threads would run one after the other, not side by side.)
//
// What returns an int returns an error number, as pthread_mutex_lock() does. Deadlines are in
// virtual nanoseconds; 0: none.
#pragma once

#include <cstdint>

#include <pthread.h>

#include "objects.hpp"

namespace pmemsim::rt {

// The calling thread is about to ask for it; others may come first (meetings.hpp).
void come_to(SyncObject& lock);

SyncObject& mutex_at(pthread_mutex_t* mutex);
int lock_mutex(pthread_mutex_t* mutex, std::uint64_t deadline);
int try_lock_mutex(pthread_mutex_t* mutex);
int unlock_mutex(pthread_mutex_t* mutex);

// The same without regard to its type or owner: of spin locks, too. `what` is for messages.
int lock_object(SyncObject& object, const char* what, std::uint64_t deadline);
// Never yields, so that a condition variable's wait is atomic.
void unlock_object(SyncObject& object);

SyncObject& rwlock_at(pthread_rwlock_t* lock);
int read_lock(SyncObject& object, bool may_wait, std::uint64_t deadline);
int write_lock(SyncObject& object, bool may_wait, std::uint64_t deadline);
int unlock_rwlock(SyncObject& object);

}  // namespace pmemsim::rt
