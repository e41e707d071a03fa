/* hand_over: two threads take turns: each waits for the turn, which the other hands over, and adds
 * to a line that both write. An operation is one turn. */
#include "measured.h"

#include <stdatomic.h>

static _Alignas(LINE_BYTES) atomic_uint_fast64_t turn;
static _Alignas(LINE_BYTES) volatile uint64_t shared[LINE_BYTES / sizeof(uint64_t)];

static void take_turns(uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; i += 2) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != i) {
    }
    ++shared[0];
    ++shared[1];
    atomic_store_explicit(&turn, i + 1, memory_order_release);
  }
}

static void* other(void* end) {
  pin(1);
  take_turns(1, *(uint64_t*)end);
  return NULL;
}

static void set_up(void) {}

static void repeat(void) {
  uint64_t end = options.operations;
  pthread_t thread;
  atomic_store(&turn, 0);
  if (pthread_create(&thread, NULL, other, &end) != 0) fail("pthread_create");
  take_turns(0, end);
  pthread_join(thread, NULL);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
