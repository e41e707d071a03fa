#include "threads.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>

#include <pthread.h>
#include <unistd.h>

#include "processor.hpp"
#include "real.hpp"
#include "record.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "signals.hpp"
#include "stacks.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "watchdog.hpp"

namespace pmemsim::rt {
namespace {

using trace::SyncKind;

constexpr std::size_t kDefaultStackBytes = std::size_t{8} << 20;

Map<Thread*> thread_of_handle;
pthread_key_t end_key;

// Releases the handle and the stack of a thread that the program no longer uses.
void forget_thread(Thread* thread) {
  thread_of_handle[thread->handle] = nullptr;
  if (thread->stack != nullptr) return_stack(thread->stack, thread->stack_bytes);
}

// The last function of a thread, after the destructors of its thread-local variables. A key's
// destructor runs again as long as it sets the key, up to PTHREAD_DESTRUCTOR_ITERATIONS times.
void thread_ends(void* value) {
  if (++self->ending < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(end_key, value);
    return;
  }
  active();  // acquires the token
  release_robust_mutexes();
  record_release(SyncKind::kThreadEnd, *self->object);
  // Ends the process with its last thread. The C library would not: it also counts the runtime's
  // own threads.
  if (only_thread()) exit(0);
  stop_recording_of_thread();
  wake_all(*self->object);
  end_thread();
  self = nullptr;
}

void* thread_begins(void* argument) {
  self = static_cast<Thread*>(argument);
  self->kernel_id = gettid();
  self->hot = &hot;
  await_turn();
  install_alternate_stack();
  pthread_setspecific(end_key, self);
  record_acquire(SyncKind::kThreadStart, *self->object);
  return self->start(self->argument);
}

int cancel_state() {
  int state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, nullptr);
  return state;
}

}  // namespace

// ---- Cancellation ---------------------------------------------------------------------------

void cancellation_point() {
  if (self->cancelled && cancel_state() == PTHREAD_CANCEL_ENABLE) {
    self->cancelled = false;
    pthread_exit(PTHREAD_CANCELED);
  }
}

bool cancellable_wait_at(SyncObject& object, const char* what, std::uint64_t deadline) {
  cancellation_point();
  self->cancellable = true;
  const bool woken = wait_at(object, what, deadline);
  self->cancellable = false;
  return woken;
}

int cancel_thread(pthread_t handle) {
  Thread* thread = find_thread(handle);
  if (thread == nullptr) return ESRCH;
  thread->cancelled = true;
  if (thread->cancellable && thread->state == State::kBlocked) {
    if (thread->waits_at != nullptr) remove_waiter(*thread->waits_at, thread);
    wake(thread);
  }
  return 0;
}

// ---- Begin and end --------------------------------------------------------------------------

int create_thread(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                  void* argument) {
  start_watchdog();  // precedes share_processor(): the watchdog's thread must not share the
                     // processor
  share_processor();
  auto* thread = static_cast<Thread*>(allocate(sizeof(Thread)));
  thread->start = start;
  thread->argument = argument;
  thread->object = &new_thread_object();
  thread->state = State::kRunnable;

  pthread_attr_t own;
  pthread_attr_init(&own);
  std::size_t stack_bytes = kDefaultStackBytes;
  void* users_stack = nullptr;
  if (attributes != nullptr) {
    int detached = PTHREAD_CREATE_JOINABLE;
    pthread_attr_getdetachstate(attributes, &detached);
    thread->detached = detached == PTHREAD_CREATE_DETACHED;
    std::size_t asked = 0;
    pthread_attr_getstack(attributes, &users_stack, &asked);
    // Without a stack in the attributes, the C library reports an end of zero.
    if (reinterpret_cast<std::uintptr_t>(users_stack) + asked == 0) users_stack = nullptr;
    std::size_t size = 0;
    pthread_attr_getstacksize(attributes, &size);
    if (size > kDefaultStackBytes) stack_bytes = (size + 0xfffff) & ~std::size_t{0xfffff};
    if (users_stack != nullptr) pthread_attr_setstack(&own, users_stack, asked);
  }
  if (users_stack == nullptr) {
    thread->stack = take_stack(stack_bytes);
    thread->stack_bytes = stack_bytes;
    pthread_attr_setstack(&own, thread->stack, stack_bytes);
  }
  int error = 0;
  {
    const Waiting waits;  // pthread_create() may wait for the C library's locks
    error = real.pthread_create(&thread->handle, &own, &thread_begins, thread);
  }
  pthread_attr_destroy(&own);
  if (error != 0) return error;
  // The new thread is added after pthread_create(), not before: an instrumented malloc(), called
  // for its thread-local variables, may end the calling thread's turn.
  add_thread(thread);
  *handle = thread->handle;
  thread->object->address = reinterpret_cast<const volatile void*>(thread->handle);
  thread_of_handle[thread->handle] = thread;
  record_release(SyncKind::kThreadCreate, *thread->object);
  return 0;
}

int join_thread(pthread_t handle, void** result, bool may_wait, std::uint64_t deadline) {
  Thread* thread = find_thread(handle);
  if (thread == nullptr) return ESRCH;
  if (thread == self) return EDEADLK;
  if (thread->detached) return EINVAL;
  if (thread->state != State::kEnded) {
    if (!may_wait) return EBUSY;
    if (!cancellable_wait_at(*thread->object, "the end of a thread", deadline)) return ETIMEDOUT;
    cancellation_point();
  }
  record_acquire(SyncKind::kThreadJoin, *thread->object);
  if (result != nullptr) *result = thread->result;
  forget_thread(thread);
  return 0;
}

int detach_thread(pthread_t handle) {
  Thread* thread = find_thread(handle);
  if (thread == nullptr) return ESRCH;
  if (thread->detached) return EINVAL;
  thread->detached = true;
  if (thread->state == State::kEnded) forget_thread(thread);
  return 0;
}

Thread* find_thread(pthread_t handle) {
  Thread** found = thread_of_handle.find(handle);
  return found != nullptr ? *found : nullptr;
}

void reap(Thread* thread) {
  if (thread->index == 0) return;  // the end of main() is handled by the program
  real.pthread_join(thread->handle, &thread->result);
  if (thread->detached) forget_thread(thread);
}

void attach_main_thread() {
  auto* thread = static_cast<Thread*>(allocate(sizeof(Thread)));
  add_thread(thread);
  self = thread;
  self->kernel_id = gettid();
  self->hot = &hot;
  self->handle = pthread_self();
  self->object = &new_thread_object();
  self->object->address = reinterpret_cast<const volatile void*>(self->handle);
  thread_of_handle[self->handle] = self;
  pthread_key_create(&end_key, &thread_ends);
  pthread_setspecific(end_key, self);
}

}  // namespace pmemsim::rt
