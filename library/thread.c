/* Threads' indices: an index selects the log and the arena of a pool that a thread uses. */
#include <stdlib.h>

#include "internal.h"

_Thread_local struct thread this_thread = {.index = -1};

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static bool index_taken[PM_MAX_THREADS];

static pthread_once_t at_exit_once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;

/* Frees the index for the next thread, unless the thread died in the middle of a region. The log
 * must then keep its records until the pool is opened again. */
static void thread_detach(void* argument) {
  struct thread* thread = argument;
  if (thread->depth == 0) {
    pthread_mutex_lock(&index_lock);
    index_taken[thread->index] = false;
    pthread_mutex_unlock(&index_lock);
  }
  free(thread->logged.slot);
  free(thread->to_log);
  free(thread->to_flush);
  free(thread->deferred);
  free(thread->foreseen);
  free(thread->frees);
  free(thread->released);
  *thread = (struct thread){.index = -1};
}

static void create_key(void) {
  if (pthread_key_create(&at_exit, thread_detach) != 0) fatal("no thread-specific key is left");
}

static bool take_index(unsigned index) {
  if (index_taken[index]) return false;
  index_taken[index] = true;
  this_thread.index = (int)index;
  return true;
}

static void take_index_and_watch(int wanted) {
  pthread_once(&at_exit_once, create_key);
  pthread_mutex_lock(&index_lock);
  if (wanted >= 0)
    take_index((unsigned)wanted);
  else
    for (unsigned index = 0; index < PM_MAX_THREADS && !take_index(index); ++index) continue;
  pthread_mutex_unlock(&index_lock);
  if (this_thread.index >= 0) pthread_setspecific(at_exit, &this_thread);
}

void thread_attach(void) {
  if (this_thread.index >= 0) return;
  take_index_and_watch(-1);
  if (this_thread.index < 0) fatal("more than %d threads use persistent memory", PM_MAX_THREADS);
}

bool thread_attach_as(unsigned index) {
  if (index >= PM_MAX_THREADS) {
    set_error("pm_thread: index %u is above %d", index, PM_MAX_THREADS - 1);
    return false;
  }
  if (this_thread.index < 0) {
    take_index_and_watch((int)index);
    if (this_thread.index >= 0) return true;
    set_error("pm_thread: another thread has index %u", index);
    return false;
  }
  if (this_thread.index == (int)index) return true;
  set_error("pm_thread: this thread already has index %d", this_thread.index);
  return false;
}

void array_reserve(void* array, size_t count, size_t* capacity, size_t item_bytes) {
  if (count < *capacity) return;
  size_t larger = *capacity ? 2 * *capacity : 64;
  void** pointer = array;
  void* grown = realloc(*pointer, larger * item_bytes);
  if (!grown) fatal("out of memory");
  *pointer = grown;
  *capacity = larger;
}
