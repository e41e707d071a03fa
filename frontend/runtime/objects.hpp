// Synchronisation objects: their state, the threads that wait at them, and their numbers and
// versions in the trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contention.hpp"
#include "own_locks.hpp"
#include "persistent.hpp"
#include "thread.hpp"

namespace pmemsim::rt {

enum class ObjectKind : std::uint8_t {
  kNone,
  kMutex,
  kAnnotatedLock,
  kCondition,
  kReadWriteLock,
  kBarrier,
  kSemaphore,
  kFutex,
  kOnce,
  kThread,
  kTask,
};

// The object's number and version in the trace. Both restart with the region of interest.
struct Numbered {
  std::uint32_t epoch;
  std::uint32_t number;
  std::uint32_t version;  // releases so far
};

struct AtomicVariable {
  Numbered numbered;
  Users users;
  OwnLock own_lock;
};

struct SyncObject {
  const volatile void* address;
  ObjectKind kind;
  bool robust, owner_died;
  Users users;
  Numbered numbered;
  Numbered companion;     // reader-writer lock: counts read unlocks
  Thread* owner;          // owner of a mutex or of the write lock
  std::uint32_t depth;    // depth of a recursive mutex; number of readers of a reader-writer lock
  std::uint32_t count;    // a barrier's number of threads; a semaphore's value
  std::uint32_t arrived;  // number of threads that have arrived at a barrier
  std::uint32_t spare;    // semaphore: waits that need no post, since the epoch began
  Thread* first_waiter;
  Thread* last_waiter;
};

// Returns the object of this kind at an address. Creates it if no object, or an object of another
// kind, is at the address.
SyncObject& object_at(const volatile void* address, ObjectKind kind);
const SyncObject* find_object(const volatile void* address);  // nullptr: there is no object
void forget_object(const volatile void* address);
SyncObject& new_thread_object();

void enqueue(SyncObject& object, Thread* thread);
Thread* dequeue(SyncObject& object);  // nullptr: no thread waits
void remove_waiter(SyncObject& object, Thread* thread);

// Waits in the object's queue; false if the deadline passed first (the thread then left the queue).
bool wait_at(SyncObject& object, const char* what, std::uint64_t deadline);
// Wakes the first waiter, if any, and gives it the version with which it may continue.
Thread* wake_one(SyncObject& object);
void wake_all(SyncObject& object);

// Gives the object a number in the trace, if it has none yet.
Numbered& number(SyncObject& object);
AtomicVariable& atomic_at(const volatile void* address);
void for_each_atomic(void (*visit)(const AtomicVariable&));
std::uint32_t object_count();
// Begins the region of interest: all numbers and versions restart.
void begin_epoch();

// Writes an acquire record, or a release record that makes the next version.
void record_acquire(trace::SyncKind kind, SyncObject& object);
void record_acquire(trace::SyncKind kind, SyncObject& object, const Numbered& numbered,
                    std::uint32_t version);
void record_release(trace::SyncKind kind, SyncObject& object);

// Writes " (held by thread 3)" into `text`, for messages.
void describe_holder(const SyncObject* object, char* text, std::size_t bytes);

void note_robust();  // notes that a robust mutex exists
// Notifies waiters of robust mutexes that their owner has ended.
void release_robust_mutexes();

}  // namespace pmemsim::rt
