// Publishes items: writes each, makes it persistent, then counts it. With a mistake, chosen by BUG.
// `published_items FILE` is the checker: each item that counts must be there as a whole.
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define NONE 0
#define DATA_NOT_FLUSHED 1
#define NO_FENCE 2
#define STORED_AFTER_FLUSH 3
#define PARTIAL_LINE 4
#define NT_NO_FENCE 5
#define OTHER_THREAD 6
#define OTHER_THREADS_TWIN 7
#ifndef BUG
#define BUG NONE
#endif

enum { ITEMS = 20, BYTES = 8192 };

struct item {
  uint64_t key, padding[7];
  uint64_t value, more_padding[7];
};
struct pool {
  uint64_t count, padding[7];
  struct item items[ITEMS];
};

static struct pool* pool;

static void persist(void* line) {
  _mm_clwb(line);
  _mm_sfence();
}

static void write_item(uint64_t number) {
  struct item* item = &pool->items[number];
  item->key = number + 1;
#if BUG == NT_NO_FENCE
  _mm_stream_si64((long long*)&item->value, 3 * (long long)(number + 1));  // streamed value
  _mm_clwb(&item->key);
#elif BUG == STORED_AFTER_FLUSH
  _mm_clwb(&item->value);
  item->value = 3 * (number + 1);  // late value
  _mm_clwb(&item->key);
  _mm_sfence();
#else
  item->value = 3 * (number + 1);  // value
  if (BUG != PARTIAL_LINE && (BUG != DATA_NOT_FLUSHED || number != 13)) _mm_clwb(&item->value);
  _mm_clwb(&item->key);
  if (BUG != NO_FENCE) _mm_sfence();
#endif
}

static void count_item(uint64_t number) {
  pool->count = number + 1;
  persist(&pool->count);
}

static void single(void) {
  for (uint64_t number = 0; number < ITEMS; ++number) {
    write_item(number);
    count_item(number);
  }
}

// One thread writes, the other one counts.
static _Atomic uint64_t written, counted;
static void wait_for(_Atomic uint64_t* number, uint64_t least) {
  while (atomic_load_explicit(number, memory_order_acquire) < least) {
  }
}
static void* writes(void* unused) {
  for (uint64_t number = 0; number < ITEMS; ++number) {
    struct item* item = &pool->items[number];
    item->key = number + 1;
    item->value = 3 * (number + 1);  // other's value
#if BUG == OTHER_THREADS_TWIN
    _mm_clwb(&item->key);
    persist(&item->value);
    atomic_store_explicit(&written, number + 1, memory_order_release);
#else
    atomic_store_explicit(&written, number + 1, memory_order_release);
    _mm_clwb(&item->key);
    persist(&item->value);
#endif
    wait_for(&counted, number + 1);
  }
  return unused;
}
static void two_threads(void) {
  pthread_t writer;
  pthread_create(&writer, NULL, writes, NULL);
  for (uint64_t number = 0; number < ITEMS; ++number) {
    wait_for(&written, number + 1);
    count_item(number);
    atomic_store_explicit(&counted, number + 1, memory_order_release);
  }
  pthread_join(writer, NULL);
}

static int check(const char* path) {
  static struct pool image;
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(&image, sizeof(image), 1, file) != 1) return 2;
  for (uint64_t number = 0; number < image.count; ++number) {
    if (image.items[number].key != number + 1 || image.items[number].value != 3 * (number + 1)) {
      printf("item %d is counted, but isn't there\n", (int)number);
      return 1;
    }
  }
  return 0;
}

int main(int count, char** words) {
  if (count > 1) return check(words[1]);
  pool = mmap((void*)0x500000000000, BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (pool == MAP_FAILED) return 1;
  if (BUG >= OTHER_THREAD) {
    two_threads();
  } else {
    single();
  }
  return 0;
}
