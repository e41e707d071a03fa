/* ring_buffer: one thread sends messages of 32 bytes to another thread through a ring of 1,024
 * entries. An operation is one message. */
#include "measured.h"

#include <stdatomic.h>

enum { ENTRIES = 1024, WORDS = 4 };

static uint64_t ring[ENTRIES][WORDS];
static _Alignas(LINE_BYTES) atomic_uint_fast64_t sent;
static _Alignas(LINE_BYTES) atomic_uint_fast64_t received;
static _Alignas(LINE_BYTES) uint64_t sum;

static void set_up(void) {}

static void* receive(void* nothing) {
  pin(1);
  const uint64_t first = atomic_load(&received), last = first + options.operations;
  for (uint64_t i = first; i < last; ++i) {
    while (atomic_load_explicit(&sent, memory_order_acquire) <= i) {
    }
    for (int k = 0; k < WORDS; ++k) sum += ring[i % ENTRIES][k];
    atomic_store_explicit(&received, i + 1, memory_order_release);
  }
  return nothing;
}

static void repeat(void) {
  pthread_t receiver;
  if (pthread_create(&receiver, NULL, receive, NULL) != 0) fail("pthread_create");
  const uint64_t first = atomic_load(&sent), last = first + options.operations;
  for (uint64_t i = first; i < last; ++i) {
    while (atomic_load_explicit(&received, memory_order_acquire) + ENTRIES <= i) {
    }
    for (int k = 0; k < WORDS; ++k) ring[i % ENTRIES][k] = i + (uint64_t)k;
    atomic_store_explicit(&sent, i + 1, memory_order_release);
  }
  pthread_join(receiver, NULL);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
