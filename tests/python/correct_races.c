/* Correct programs in which one thread reads what another makes persistent: `correct_races IDIOM`.
 * No order of the threads lets a store persist without the data on which it depends. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS = 5 };
#define IN_LINE _Alignas(64)
struct pool {
  IN_LINE _Atomic uint64_t value;
  IN_LINE volatile uint64_t data;
  IN_LINE volatile uint64_t more;
  IN_LINE volatile uint32_t halves[2];
  IN_LINE uint64_t copy;
  struct {
    IN_LINE uint64_t value;
  } cells[ROUNDS];
};
static struct pool* pool;
static _Atomic int unflushed, ready;
static _Atomic uint64_t sequence;
static _Atomic(const uint64_t*) newest;
static volatile int flag;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((target("clwb"))) static void persist(const volatile void* data) {
  _mm_clwb((void*)data);
  _mm_sfence();
}
static void copy(uint64_t value) {
  pool->copy = value;
  persist(&pool->copy);
}

/* The reader flushes if the writer may not have (FliT). */
static void counted_write(uint64_t round) {
  atomic_fetch_add(&unflushed, 1);
  atomic_store(&pool->value, round);
  persist(&pool->value);
  atomic_fetch_sub(&unflushed, 1);
}
static void counted_read(uint64_t round) {
  (void)round;
  const uint64_t value = atomic_load(&pool->value);
  if (atomic_load(&unflushed) > 0) persist(&pool->value);
  copy(value);
}

static void plain_write(uint64_t round) {
  pool->data = round;
  persist(&pool->data);
}
static void flushing_read(uint64_t round) {
  (void)round;
  const uint64_t value = pool->data;
  persist(&pool->data);
  copy(value);
}

static void initialise(void) {
  if (atomic_load(&ready)) return;
  pthread_mutex_lock(&lock);
  if (!atomic_load(&ready)) {
    pool->data = 7;
    persist(&pool->data);
    atomic_store(&ready, 1);
  }
  pthread_mutex_unlock(&lock);
}
static void double_checked_write(uint64_t round) {
  initialise();
  pool->cells[round - 1].value = pool->data;
  persist(&pool->cells[round - 1]);
}
static void double_checked_read(uint64_t round) {
  (void)round;
  initialise();
  copy(pool->data);
}

static void flagged_write(uint64_t round) {
  if (round > 1) return;
  pool->data = 7;
  persist(&pool->data);
  flag = 1;
}
static void flagged_read(uint64_t round) {
  (void)round;
  while (!flag) continue;
  copy(pool->data);
}

static void sequential_write(uint64_t round) {
  atomic_fetch_add(&sequence, 1);
  pool->data = round;
  pool->more = round;
  persist(&pool->data);
  persist(&pool->more);
  atomic_fetch_add(&sequence, 1);
}
static void sequential_read(uint64_t round) {
  (void)round;
  uint64_t before, sum;
  do {
    while ((before = atomic_load(&sequence)) % 2 != 0) continue;
    sum = pool->data + pool->more;
  } while (before != atomic_load(&sequence));
  copy(sum);
}

static void publishing_write(uint64_t round) {
  pool->cells[round - 1].value = round;
  persist(&pool->cells[round - 1]);
  atomic_store(&newest, &pool->cells[round - 1].value);
}
static void following_read(uint64_t round) {
  (void)round;
  const uint64_t* const found = atomic_load(&newest);
  if (found) copy(*found);
}

static void add_one(uint64_t round) {
  (void)round;
  pthread_mutex_lock(&lock);
  pool->data = pool->data + 1;
  persist(&pool->data);
  pthread_mutex_unlock(&lock);
}

static void add_to_first_half(uint64_t round) {
  (void)round;
  pool->halves[0] = pool->halves[0] + 1;
  persist(&pool->halves[0]);
}
static void add_to_second_half(uint64_t round) {
  (void)round;
  pool->halves[1] = pool->halves[1] + 1;
  persist(&pool->halves[1]);
}

static void* repeat(void* each_round) {
  void (*const each)(uint64_t) = *(void (**)(uint64_t))each_round;
  for (uint64_t round = 1; round <= ROUNDS; ++round) each(round);
  return NULL;
}

int main(int argc, char** argv) {
  static struct {
    const char* name;
    void (*threads[2])(uint64_t);
  } idioms[] = {
      {"counted", {counted_write, counted_read}},
      {"flush-on-read", {plain_write, flushing_read}},
      {"double-checked", {double_checked_write, double_checked_read}},
      {"flag", {flagged_write, flagged_read}},
      {"seqlock", {sequential_write, sequential_read}},
      {"publication", {publishing_write, following_read}},
      {"lock", {add_one, add_one}},
      {"halves", {add_to_first_half, add_to_second_half}},
  };
  if (argc != 2) return 2;
  pool = mmap((void*)0x500000000000, 1 << 12, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (pool == MAP_FAILED) return 2;
  for (size_t i = 0; i < sizeof idioms / sizeof *idioms; ++i) {
    if (strcmp(argv[1], idioms[i].name) != 0) continue;
    pthread_t threads[2];
    for (int k = 0; k < 2; ++k) {
      pthread_create(&threads[k], NULL, repeat, &idioms[i].threads[k]);
    }
    for (int k = 0; k < 2; ++k) pthread_join(threads[k], NULL);
    return 0;
  }
  return 2;
}
