/* Streams to persistent memory: each thread accesses the lines of its own part in order.
 *
 * streams KIND OPERATIONS REPETITIONS threads=N bytes=SIZE
 *
 * An operation is one line: `loads` reads it, `stores` writes it, `flushes` writes it and writes it
 * back, `past` writes it past the caches, without a fence. An operation of `overwrites` writes the
 * same 256 bytes past the caches, with a fence behind them. Parts begin `bytes` apart. */
#include "measured.h"

enum Kind { LOADS, STORES, FLUSHES, PAST, OVERWRITES, KINDS };
static const char* const names[] = {"loads", "stores", "flushes", "past", "overwrites"};
static enum Kind kind;
static uint64_t* memory;

static void set_up(void) { memory = persistent_memory(options.threads * options.bytes); }

static void store_words(uint64_t* at, int words, uint64_t value) {
  for (int word = 0; word < words; ++word) store_past_caches(at + word, value);
}

static void access_line(uint64_t* part, uint64_t number) {
  uint64_t* line = part + number * (LINE_BYTES / sizeof *part);
  if (kind == LOADS) {
    use(*(volatile uint64_t*)line);
  } else if (kind == OVERWRITES) {
    store_words(part, 32, number);
    sfence();
  } else if (kind == PAST) {
    store_words(line, 8, number);
  } else {
    *(volatile uint64_t*)line = number;
    if (kind == FLUSHES) flush(line);
  }
}

static void* stream(void* thread) {
  uint64_t* part = memory + (uintptr_t)thread * (options.bytes / sizeof *memory);
  const uint64_t operations = options.operations / options.threads;
  pin((unsigned)(uintptr_t)thread);
  for (uint64_t i = 0; i < operations; ++i) access_line(part, i);
  return NULL;
}

static void repeat(void) {
  pthread_t threads[64];
  for (uint64_t i = 1; i < options.threads; ++i) {
    pthread_create(&threads[i], NULL, stream, (void*)i);
  }
  stream(NULL);
  for (uint64_t i = 1; i < options.threads; ++i) pthread_join(threads[i], NULL);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  while (kind < KINDS && strcmp(names[kind], arguments[1]) != 0) ++kind;
  if (kind == KINDS) return 2;
  return measure(count - 2, arguments + 2);
}
