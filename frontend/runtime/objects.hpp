// Synchronisation objects: their state, who waits at them, and their numbers and versions in the
// trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "meetings.hpp"
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
};

// What the trace calls it. Starts anew with the region of interest.
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
  Numbered companion;     // of a reader-writer lock: counts read unlocks
  Thread* owner;          // of a mutex, of the write lock
  std::uint32_t depth;    // recursive mutex; readers of a reader-writer lock
  std::uint32_t count;    // of a barrier: threads; of a semaphore: its value
  std::uint32_t arrived;  // at a barrier
  std::uint32_t spare;    // of a semaphore: waits that need no post, since the epoch began
  Thread* first_waiter;
  Thread* last_waiter;
};

// The object at an address; a new one if there was none, or one of another kind.
SyncObject& object_at(const volatile void* address, ObjectKind kind);
const SyncObject* find_object(const volatile void* address);  // nullptr: there was none
void forget_object(const volatile void* address);
SyncObject& new_thread_object();

void enqueue(SyncObject& object, Thread* thread);
Thread* dequeue(SyncObject& object);  // nullptr: nobody waits
void remove_waiter(SyncObject& object, Thread* thread);

// Waits in the object's queue; false if the deadline passed first (it then left the queue).
bool wait_at(SyncObject& object, const char* what, std::uint64_t deadline);
// Wakes the first waiter, if any, telling it the version that it may go on with.
Thread* wake_one(SyncObject& object);
void wake_all(SyncObject& object);

// Gives the object a number in the trace, if it has none yet.
Numbered& number(SyncObject& object);
AtomicVariable& atomic_at(const volatile void* address);
void for_each_atomic(void (*visit)(const AtomicVariable&));
std::uint32_t object_count();
// The region of interest begins: all numbers and versions start anew.
void begin_epoch();

// Writes an acquire record, or a release record that makes the next version.
void record_acquire(trace::SyncKind kind, SyncObject& object);
void record_acquire(trace::SyncKind kind, SyncObject& object, const Numbered& numbered,
                    std::uint32_t version);
void record_release(trace::SyncKind kind, SyncObject& object);

// " (held by thread 3)", for messages.
void describe_holder(const SyncObject* object, char* text, std::size_t bytes);

void note_robust();  // there is a robust mutex
// Lets waiters of robust mutexes know that their owner has ended.
void release_robust_mutexes();

}  // namespace pmemsim::rt
