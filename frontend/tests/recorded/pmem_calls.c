// Uses of libpmem, by name. The ones whose names begin with `no_` lack a step.
#include <libpmem.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { BIG = 1000, SMALL = 100 };

static char source[2 * BIG];
static char* pool;
static int is_pmem;

static void persist(void) {
  pool[0] = 1;
  pmem_persist(pool, 1);
}
static void flush(void) {
  pool[0] = pool[100] = 1;
  pmem_flush(pool, 101);
  pmem_drain();
}
static void msync_range(void) {
  pool[0] = 1;
  pmem_msync(pool, 1);
}
static void deep_persist(void) {
  pool[0] = 1;
  pmem_deep_persist(pool, 1);
}
static void deep_flush(void) {
  pool[0] = 1;
  pmem_deep_flush(pool, 1);
  pmem_deep_drain(pool, 1);
}
static void copies(void) {
  pmem_memcpy_persist(pool + 3, source, SMALL);
  pmem_memmove_persist(pool + 1003, source, BIG);
  pmem_memset_persist(pool + 3003, 7, BIG);
  pmem_memcpy_nodrain(pool + 5003, source, BIG);
  pmem_memmove_nodrain(pool + 6003, source, SMALL);
  pmem_memset_nodrain(pool + 7003, 8, SMALL);
  pmem_drain();
}
static void flags(void) {
  for (unsigned flag = 0; flag < 64; ++flag) {
    for (unsigned bytes = 1; bytes < 2000; bytes = bytes * 7 + 1) {
      pmem_memcpy(pool + 5, source, bytes, flag);
      pmem_memmove(pool + 4001, pool + 3990, bytes, flag);
      pmem_memset(pool + 8003, 9, bytes, flag);
      if (flag & PMEM_F_MEM_NOFLUSH) pmem_flush(pool, 12000);
      if (flag & (PMEM_F_MEM_NOFLUSH | PMEM_F_MEM_NODRAIN)) pmem_drain();
    }
  }
}
static void pointer(void) {
  void (*make_durable)(const void*, size_t) =
      is_pmem ? pmem_persist : (void (*)(const void*, size_t))pmem_msync;
  pool[0] = 1;
  make_durable(pool, 1);
}
static void (*const table[])(const void*, size_t) = {pmem_flush, pmem_persist};
static void from_table(void) {
  pool[0] = 1;
  table[1](pool, 1);
}
static void* work(void* part) {
  for (int i = 0; i < 50; ++i) {
    pmem_memcpy_persist((char*)part + 64 * i, source, 60);
    memset((char*)part + 64 * i, i, 8);
    pmem_persist((char*)part + 64 * i, 8);
  }
  return NULL;
}
static void threads(void) {
  pthread_t all[3];
  for (int i = 0; i < 3; ++i) pthread_create(&all[i], NULL, work, pool + 8192 * i);
  for (int i = 0; i < 3; ++i) pthread_join(all[i], NULL);
}

static void no_persist(void) {
  pool[0] = 1;  // never-flushed
}
static void no_drain(void) {
  pool[0] = 1;
  pmem_flush(pool, 1);  // flushed-not-fenced
}
static void no_deep_drain(void) {
  pool[0] = 1;
  pmem_deep_flush(pool, 1);  // flushed-not-fenced
}
static void no_drain_of_small_copy(void) {
  pmem_memcpy_nodrain(pool, source, SMALL);  // flushed-not-fenced
}
static void no_drain_of_big_copy(void) {
  pmem_memcpy_nodrain(pool, source, BIG);  // nt-not-fenced flushed-not-fenced
}
static void no_drain_by_flags(void) {
  pmem_memset(pool, 7, BIG, PMEM_F_MEM_NODRAIN | PMEM_F_MEM_TEMPORAL);  // flushed-not-fenced
}
static void no_drain_past_caches(void) {
  pmem_memmove(pool, source, 64, PMEM_F_MEM_NODRAIN | PMEM_F_MEM_WC);  // nt-not-fenced
}
static void no_flush_by_flags(void) {
  pmem_memcpy(pool, source, BIG, PMEM_F_MEM_NOFLUSH);  // never-flushed
  pmem_drain();
}

#define USE(name) {#name, name}
static const struct use {
  const char* name;
  void (*function)(void);
} uses[] = {
    USE(persist),
    USE(flush),
    USE(msync_range),
    USE(deep_persist),
    USE(deep_flush),
    USE(copies),
    USE(flags),
    USE(pointer),
    USE(from_table),
    USE(threads),
    USE(no_persist),
    USE(no_drain),
    USE(no_deep_drain),
    USE(no_drain_of_small_copy),
    USE(no_drain_of_big_copy),
    USE(no_drain_by_flags),
    USE(no_drain_past_caches),
    USE(no_flush_by_flags),
};

int main(int count, char** words) {
  size_t length;
  memset(source, 5, sizeof source);
  pool = pmem_map_file(words[count - 1], 1 << 20, PMEM_FILE_CREATE, 0600, &length, &is_pmem);
  if (!pool) return 1;
  for (unsigned i = 0; i < sizeof uses / sizeof uses[0]; ++i) {
    if (!strcmp(uses[i].name, words[1])) uses[i].function();
  }
  return 0;
}
