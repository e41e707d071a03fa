// Threads append records under one lock, and do something else before they wait for it. The reader
// prints each record's number, or "torn". BUG 1: a record isn't fenced before it counts. BUG 2: no
// bug, but the holder of the lock appends the records of waiting threads, too.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kWords = BUG == 2 ? 24 : 256, kRecords = 6 };
struct record {
  uint64_t words[kWords];
};
struct store {
  uint64_t count, unused[7];
  struct record records[THREADS * kRecords];
};

static struct store* store;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int calls;
static _Atomic uint64_t requests[THREADS];

__attribute__((target("clwb"))) static void flush(const void* data, size_t bytes) {
  for (const char* at = data; at < (const char*)data + bytes; at += 64) _mm_clwb((void*)at);
}

static void put(uint64_t value) {
  struct record* record = &store->records[store->count];
  for (int i = 0; i < kWords; ++i) record->words[i] = value;
  flush(record, sizeof *record);
  if (BUG != 1) _mm_sfence();
  store->count++;
  flush(&store->count, 8);
  _mm_sfence();
}

__attribute__((noinline)) static void append(int thread, uint64_t value) {
  atomic_fetch_add(&calls, 1);
  if (BUG == 2) atomic_store(&requests[thread], value);
  pthread_mutex_lock(&lock);
  if (BUG != 2) put(value);
  for (int i = 0; i < THREADS; ++i) {
    uint64_t request = atomic_exchange(&requests[i], 0);
    if (request != 0) put(request);
  }
  pthread_mutex_unlock(&lock);
}

static void* work(void* argument) {
  int thread = (int)(intptr_t)argument;
  for (uint64_t i = 1; i <= kRecords; ++i) append(thread, (uint64_t)(thread + 1) * 1000 + i);
  return NULL;
}

static int print(void) {
  for (uint64_t i = 0; i < store->count; ++i) {
    const uint64_t* words = store->records[i].words;
    int torn = 0;
    for (int w = 1; w < kWords; ++w) torn |= words[w] != words[0];
    torn ? puts("torn") : printf("%lu\n", words[0]);
  }
  return 0;
}

int main(int count, char** words) {
  int reads = count == 3;
  int file = open(words[count - 1], reads ? O_RDONLY : O_RDWR | O_CREAT, 0600);
  if (file < 0 || (!reads && ftruncate(file, sizeof *store))) return 2;
  store =
      mmap(NULL, sizeof *store, reads ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (reads) return print();
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return 0;
}
