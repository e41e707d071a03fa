/* The program of the pinned recordings: a little of all that programs do with persistent memory.
 *
 *     program THREADS REGIONS
 *
 * Each thread runs so many regions, on blocks that all threads share under a lock each: regions of
 * one line and of many, nested ones, allocations, and hints for pre-execution. Between regions it
 * stores with flushes, fences and orders of its own, streams, and loads lines that no cache has.
 * Built with either log of pm.h. */
#include <immintrin.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmemsim/pm.h"

enum { BLOCKS = 8, BODY = 10, FAR = 4096, TABLE = 1 << 14, MOST_THREADS = 8 };

struct line {
  _Alignas(PM_LINE_BYTES) uint64_t word[8];
};
struct block {
  uint64_t count, sum;
  struct line* part;
  struct line body[BODY];
};
struct root {
  struct line own[MOST_THREADS];
  struct line shared;
  struct block blocks[BLOCKS];
};

static pm_pool* pool;
static struct root* root;
static struct line* far;      /* FAR lines of PM, and */
static uint64_t table[TABLE]; /* memory that nothing has touched before it is measured */
static pthread_mutex_t locks[BLOCKS];
static pthread_rwlock_t names = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t start;
static sem_t finished;
static int regions;

/* ---- Inside regions, under the block's lock -------------------------------------------------- */

static void count(struct block* block, uint64_t by) {
  pm_set(block->count, pm_get(block->count) + 1);
  pm_set(block->sum, (pm_get(block->sum) ^ by) * 31 % 1000003);
}

static void change_one_line(struct block* block, uint64_t value) {
  pm_pre hint;
  pm_pre_init(&hint);
  pm_pre_both_val(&hint, &block->body[value % BODY].word[1], value);
  struct line* line = &block->body[value % BODY];
  pm_log_ranges((pm_range[]){{block, 16}, {line, 16}}, 2);
  for (int i = 0; i < 2; ++i) pm_set(line->word[i], value + (uint64_t)i);
  count(block, value);
}

static void change_many_lines(struct block* block, uint64_t value) {
  pm_pre hint;
  pm_pre_init(&hint);
  pm_pre_addr(&hint, block->body, sizeof block->body);
  pm_log(block, sizeof *block);
  for (int i = 0; i < BODY; ++i) pm_set(block->body[i].word[i % 8], value & 3); /* often alike */
  pm_begin(pool);
  count(block, value);
  pm_end();
}

static void replace_part(struct block* block, uint64_t value) {
  struct line fresh = {{value, value, value, value, 1, 2, 3, 4}};
  struct line* part = pm_alloc(pool, sizeof *part);
  pm_pre hint;
  pm_pre_init(&hint);
  pm_pre_both_buf(&hint, part, &fresh, sizeof fresh);
  pm_pre_start_buf(&hint);
  pm_write(part, &fresh, sizeof fresh);
  struct line* old = pm_get(block->part);
  if (old) pm_free(pool, old);
  pm_log(block, sizeof *block - sizeof block->body);
  pm_set(block->part, part);
  count(block, value);
}

static void move(struct block* from, struct block* to) {
  pm_log_ranges((pm_range[]){{from, 16}, {to, 16}}, 2);
  const uint64_t moved = pm_get(from->sum) / 2;
  pm_set(from->sum, pm_get(from->sum) - moved);
  pm_set(to->sum, pm_get(to->sum) + moved);
#ifndef PM_REDO_LOG /* whose regions have no other stores than pm_set's */
  __atomic_fetch_add(&to->count, 1, __ATOMIC_SEQ_CST);
#endif
}

static void region(uint64_t random) {
  const unsigned first = random % BLOCKS, second = random / 8 % BLOCKS;
  const unsigned low = first < second ? first : second, high = first ^ second ^ low;
  pthread_mutex_lock(&locks[low]);
  if (high != low) pthread_mutex_lock(&locks[high]);
  pm_begin(pool);
  switch (random / 64 % 4) {
    case 0:
      change_many_lines(&root->blocks[first], random);
      break;
    case 1:
      replace_part(&root->blocks[first], random);
      break;
    case 2:
      if (high != low) move(&root->blocks[first], &root->blocks[second]);
      break;
    default:
      change_one_line(&root->blocks[first], random);
  }
  pm_end();
  if (high != low) pthread_mutex_unlock(&locks[high]);
  pthread_mutex_unlock(&locks[low]);
}

/* ---- Between regions ------------------------------------------------------------------------- */

static void flush_as(int kind, void* line) {
  switch (kind) {
    case 0:
      pm_flush(line, 8);
      break;
    case 1:
      _mm_clflush(line);
      break;
    default:
      __asm__ volatile("clflushopt %0" : "+m"(*(char*)line)::"memory");
  }
}

static void store_alone(struct line* own, uint64_t value) {
  own->word[0] = value;
  flush_as((int)(value % 3), own);
  pm_order();
  own->word[1] = value;
  pm_flush(own, 16);
  pm_durable();
  __atomic_store_n(&own->word[2], value, __ATOMIC_RELEASE); /* flushed by the next call */
}

static void stream(struct line* to, uint64_t value) {
  *(volatile uint64_t*)&to->word[0] = 0; /* replaced before it is flushed */
  for (int i = 0; i < 8; ++i) _mm_stream_si64((long long*)&to->word[i], (long long)value);
  _mm_stream_si64((long long*)&to[1].word[0], (long long)value);
  _mm_sfence();
}

static uint64_t look_around(uint64_t random) {
  const size_t line = random % (FAR - 8);
  uint64_t sum = random;
  for (size_t i = 0; i < 6; ++i) sum += far[line + i].word[0]; /* line after line */
  for (size_t i = 0; i < 4; ++i) {
    sum += table[(sum * 40503 + i) % TABLE]; /* each depends on the one before */
    if (sum % 3 == 0) sum /= random % 7 + 1;
  }
  table[random / 16 % TABLE] = sum;
  return sum;
}

static void* work(void* argument) {
  const unsigned thread = (unsigned)(uintptr_t)argument;
  uint64_t random = thread + 1;
  pm_thread(pool, thread);
  pthread_barrier_wait(&start);
  pm_roi_begin();
  for (int i = 0; i < regions; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const uint64_t chosen = random >> 33;
    region(chosen);
    if (chosen % 3 == 0) store_alone(&root->own[thread], chosen);
    if (chosen % 5 == 0) stream(&far[chosen % (FAR - 1)], chosen);
    if (chosen % 2 == 0) {
      if (chosen % 8 == 0) {
        pthread_rwlock_wrlock(&names);
      } else {
        pthread_rwlock_rdlock(&names);
      }
      random += look_around(chosen) % 2;
      pthread_rwlock_unlock(&names);
    }
    if (chosen % 11 == 0) pm_fence_regions();
    if (chosen % 4 == 0) {
      root->shared.word[thread] = chosen;
      pm_flush(&root->shared, sizeof root->shared);
    }
  }
  pm_roi_end();
  sem_post(&finished);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int threads = atoi(argv[1]);
  regions = atoi(argv[2]);
  pool = pm_open(NULL, 2 << 20, 0);
  root = pm_root(pool, sizeof *root);
  far = pm_alloc(pool, FAR * sizeof *far);
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  sem_init(&finished, 0, 0);
  for (int i = 0; i < BLOCKS; ++i) pthread_mutex_init(&locks[i], NULL);
  pthread_t others[MOST_THREADS];
  for (int i = 1; i < threads; ++i) pthread_create(&others[i], NULL, work, (void*)(uintptr_t)i);
  work(NULL);
  for (int i = 0; i < threads; ++i) sem_wait(&finished);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  return 0;
}
