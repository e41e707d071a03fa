// The recorded program's threads: how they begin, end, are joined and cancelled.
//
// Functions that return an int return an error number, as pthread_create() does.
#pragma once

#include <cstdint>

#include <pthread.h>

#include "objects.hpp"

namespace pmemsim::rt {

void attach_main_thread();
Thread* find_thread(pthread_t handle);  // nullptr: not a recorded thread
// Waits until the real thread has ended. Called by the next holder of the token; otherwise the C
// library's clean-up at a thread's end would depend on timing.
void reap(Thread* ended);

int create_thread(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                  void* argument);
int join_thread(pthread_t handle, void** result, bool may_wait, std::uint64_t deadline);
int detach_thread(pthread_t handle);

int cancel_thread(pthread_t handle);
// Ends the calling thread if it has been cancelled.
void cancellation_point();
// Waits like wait_at(); cancel_thread() also ends the wait.
bool cancellable_wait_at(SyncObject& object, const char* what, std::uint64_t deadline);

}  // namespace pmemsim::rt
