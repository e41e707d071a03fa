#include "objects.hpp"

#include <cstdio>

#include "record.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {
namespace {

Map<SyncObject*> objects;
Map<AtomicVariable> atomics;
std::uint32_t epoch = 1;
std::uint32_t next_number = 0;
bool any_robust = false;

void give_number(Numbered& numbered) {
  if (next_number == trace::kMaxSyncObjects) {
    fail("%s uses more than %u locks and atomic variables", program_name, trace::kMaxSyncObjects);
  }
  numbered = {epoch, next_number++, 0};
}

bool records_sync() { return recording() && !self->hides_sync; }

}  // namespace

SyncObject& object_at(const volatile void* address, ObjectKind kind) {
  SyncObject*& object = objects[trace_address_of(address)];
  if (object == nullptr) object = static_cast<SyncObject*>(allocate(sizeof(SyncObject)));
  if (object->kind != kind) {
    *object = SyncObject{};
    object->address = address;
    object->kind = kind;
  }
  return *object;
}

const SyncObject* find_object(const volatile void* address) {
  SyncObject** object = objects.find(trace_address_of(address));
  return object != nullptr && (*object)->kind != ObjectKind::kNone ? *object : nullptr;
}

void forget_object(const volatile void* address) {
  if (SyncObject** object = objects.find(trace_address_of(address)))
    (*object)->kind = ObjectKind::kNone;
}

SyncObject& new_thread_object() {
  auto* object = static_cast<SyncObject*>(allocate(sizeof(SyncObject)));
  object->kind = ObjectKind::kThread;
  return *object;
}

void enqueue(SyncObject& object, Thread* thread) {
  thread->next_waiter = nullptr;
  if (object.first_waiter == nullptr) {
    object.first_waiter = thread;
  } else {
    object.last_waiter->next_waiter = thread;
  }
  object.last_waiter = thread;
}

Thread* dequeue(SyncObject& object) {
  Thread* thread = object.first_waiter;
  if (thread != nullptr) object.first_waiter = thread->next_waiter;
  return thread;
}

void remove_waiter(SyncObject& object, Thread* thread) {
  Thread* before = nullptr;
  for (Thread* waiter = object.first_waiter; waiter != nullptr; waiter = waiter->next_waiter) {
    if (waiter == thread) {
      (before == nullptr ? object.first_waiter : before->next_waiter) = thread->next_waiter;
      if (object.last_waiter == thread) object.last_waiter = before;
      return;
    }
    before = waiter;
  }
}

bool wait_at(SyncObject& object, const char* what, std::uint64_t deadline) {
  enqueue(object, self);
  if (block(what, &object, deadline)) return true;
  remove_waiter(object, self);
  return false;
}

Thread* wake_one(SyncObject& object) {
  Thread* thread = dequeue(object);
  if (thread == nullptr) return nullptr;
  thread->wake_version = object.numbered.version;
  wake(thread);
  return thread;
}

void wake_all(SyncObject& object) {
  while (wake_one(object) != nullptr) {
  }
}

Numbered& number(SyncObject& object) {
  if (object.numbered.epoch != epoch) {
    give_number(object.numbered);
    object.spare = object.count;
    object.companion = {};
    if (object.kind == ObjectKind::kReadWriteLock) give_number(object.companion);
  }
  return object.numbered;
}

AtomicVariable& atomic_at(const volatile void* address) {
  AtomicVariable& atomic = atomics[trace_address_of(address)];
  if (atomic.numbered.epoch != epoch) give_number(atomic.numbered);
  return atomic;
}

void for_each_atomic(void (*visit)(const AtomicVariable&)) { atomics.for_each(visit); }

std::uint32_t object_count() { return next_number; }

void begin_epoch() {
  ++epoch;
  next_number = 0;
}

void record_acquire(trace::SyncKind kind, SyncObject& object) {
  if (!records_sync()) return;
  const Numbered& numbered = number(object);
  put_sync(kind, object.address, numbered.number, numbered.version,
           object.kind == ObjectKind::kAnnotatedLock);
}

void record_acquire(trace::SyncKind kind, SyncObject& object, const Numbered& numbered,
                    std::uint32_t version) {
  if (!records_sync()) return;
  // The release that woke the waiter may be from before the region of interest.
  put_sync(kind, object.address, numbered.number,
           version < numbered.version ? version : numbered.version);
}

void record_release(trace::SyncKind kind, SyncObject& object) {
  if (!records_sync()) return;
  number(object);
  Numbered& numbered = kind == trace::SyncKind::kReadUnlock ? object.companion : object.numbered;
  put_sync(kind, object.address, numbered.number, ++numbered.version,
           object.kind == ObjectKind::kAnnotatedLock);
}

void describe_holder(const SyncObject* object, char* text, std::size_t bytes) {
  if (object != nullptr && object->owner != nullptr) {
    std::snprintf(text, bytes, " at %p, which thread %u holds",
                  const_cast<const void*>(object->address), object->owner->index);
  } else if (object != nullptr) {
    std::snprintf(text, bytes, " at %p", const_cast<const void*>(object->address));
  }
}

void release_robust_mutexes() {
  if (!any_robust) return;
  objects.for_each([](SyncObject* object) {
    if (object == nullptr || !object->robust || object->owner != self) return;
    object->owner_died = true;
    object->depth = 0;
    record_release(trace::SyncKind::kMutexUnlock, *object);
    object->owner = wake_one(*object);
    if (object->owner != nullptr) object->depth = 1;
  });
}

void note_robust() { any_robust = true; }

}  // namespace pmemsim::rt
