/* Bugs of programs with persistent memory, each beside its corrected form: `planted_bugs KIND bug`
 * and `planted_bugs KIND twin`. The line at which a bug is to be found says so: its kind in a
 * comment. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct node {
  struct node* next;
  uint64_t value[7];
};
struct pool {
  struct node* head;
  uint64_t unused[7];
  uint64_t count, sum;
  uint64_t other[6];
  void* pointer;
  uint64_t last[7];
  struct node nodes[64];
};

static struct pool* pool;
static bool bug;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define CLWB __attribute__((target("clwb")))

CLWB static void flush(void* at) { _mm_clwb(at); }
static void fence(void) { _mm_sfence(); }
static void persist(void* at) {
  flush(at);
  fence();
}

static void never_flushed(void) {
  pool->count = 1; /* never-flushed */
  if (!bug) persist(&pool->count);
  pool->nodes[0].value[0] = 2;
  persist(&pool->nodes[0]);
}

static void stored_after_flush(void) {
  pool->count = 1;
  flush(&pool->count);
  pool->sum = 2; /* stored-after-flush */
  if (!bug) flush(&pool->count);
  fence();
  pool->nodes[0].value[0] = 3;
  persist(&pool->nodes[0]);
}

/* The first push makes the head a place that was persistent before. */
CLWB static void flushed_not_fenced(void) {
  for (int i = 0; i < 2; ++i) {
    struct node* node = &pool->nodes[i];
    node->value[0] = 1;
    node->next = pool->head;
    _mm_clwb(node); /* flushed-not-fenced */
    if (!bug) fence();
    pool->head = node;
    persist(&pool->head);
  }
}

static void published_unflushed(void) {
  for (int i = 0; i < 2; ++i) {
    struct node* node = &pool->nodes[i];
    node->value[0] = 1; /* published-unflushed */
    if (!bug) persist(node);
    pool->head = node;
    persist(&pool->head);
    if (bug) persist(node);
  }
}

static void nt_not_fenced(void) {
  for (int i = 0; i < 2; ++i) {
    struct node* node = &pool->nodes[i];
    _mm_stream_si64((long long*)&node->value[0], 1); /* nt-not-fenced */
    if (!bug) fence();
    pool->head = node;
    persist(&pool->head);
  }
}

CLWB static void locked_fence_only(void) {
  pthread_mutex_lock(&lock);
  pool->count = 1;
  _mm_clwb(&pool->count); /* locked-fence-only */
  if (!bug) fence();
  pthread_mutex_unlock(&lock);
  pool->nodes[0].value[0] = 1;
  persist(&pool->nodes[0]);
}

CLWB static void* flushes(void* unused) {
  (void)unused;
  pool->count = 1;
  _mm_clwb(&pool->count); /* flushed-by-another */
  if (!bug) fence();
  return NULL;
}
static void flushed_by_another(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, flushes, NULL);
  pthread_join(thread, NULL);
  pool->nodes[0].value[0] = 1;
  persist(&pool->nodes[0]);
}

static void* gives(void* unused) {
  (void)unused;
  pool->count = 1;
  flush(&pool->count);
  if (!bug) fence();
  return NULL;
}
static void reads_unpersisted(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, gives, NULL);
  pthread_join(thread, NULL);
  const uint64_t count = pool->count; /* reads-unpersisted */
  pool->nodes[0].value[0] = count + 1;
  persist(&pool->nodes[0]);
}

static void replies_unpersisted(void) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  pool->count = 1;
  if (!bug) persist(&pool->count);
  if (write(ends[1], "stored", 6) != 6) abort(); /* replies-unpersisted */
  if (bug) persist(&pool->count);
}

static void* gives_at_any_time(void* unused) {
  (void)unused;
  pool->count = 1;
  persist(&pool->count);
  return NULL;
}
static void could_read_unpersisted(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, gives_at_any_time, NULL);
  uint64_t count;
  do {
    count = *(volatile uint64_t*)&pool->count; /* could-read-unpersisted */
  } while (count == 0);
  if (!bug) persist(&pool->count);
  pool->nodes[0].value[0] = count + 1;
  persist(&pool->nodes[0]);
  pthread_join(thread, NULL);
}

static void* adds(void* unused) {
  (void)unused;
  for (int i = 0; i < 2; ++i) {
    if (!bug) pthread_mutex_lock(&lock);
    pool->count = pool->count + 1; /* could-lose-update */
    persist(&pool->count);
    if (!bug) pthread_mutex_unlock(&lock);
  }
  return NULL;
}
static void could_lose_update(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, adds, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static void volatile_pointer(void) {
  uint64_t* memory = malloc(64);
  *(volatile uint64_t*)memory = 1;
  pool->pointer = bug ? (void*)memory : (void*)pool->nodes; /* volatile-pointer */
  persist(&pool->pointer);
}

static void torn_publish(void) {
  char* place = (char*)pool->last + (bug ? 4 : 0);
  struct node* node = &pool->nodes[3];
  *(struct node* volatile*)place = node; /* torn-publish */
  persist(pool->last);
}

CLWB static void useless_flush(void) {
  pool->count = 1;
  flush(&pool->count);
  if (bug) _mm_clwb(&pool->sum); /* useless-flush */
  fence();
}

static void useless_fence(void) {
  pool->count = 1;
  persist(&pool->count);
  if (bug) _mm_sfence(); /* useless-fence */
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kinds[] = {
      {"never-flushed", never_flushed},
      {"stored-after-flush", stored_after_flush},
      {"flushed-not-fenced", flushed_not_fenced},
      {"published-unflushed", published_unflushed},
      {"nt-not-fenced", nt_not_fenced},
      {"locked-fence-only", locked_fence_only},
      {"flushed-by-another", flushed_by_another},
      {"reads-unpersisted", reads_unpersisted},
      {"could-read-unpersisted", could_read_unpersisted},
      {"could-lose-update", could_lose_update},
      {"replies-unpersisted", replies_unpersisted},
      {"volatile-pointer", volatile_pointer},
      {"torn-publish", torn_publish},
      {"useless-flush", useless_flush},
      {"useless-fence", useless_fence},
  };
  if (argc != 3) return 2;
  bug = strcmp(argv[2], "bug") == 0;
  pool = mmap((void*)0x100000000000, 1 << 16, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (pool == MAP_FAILED) return 2;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(argv[1], kinds[i].name) == 0) return kinds[i].run(), 0;
  }
  return 2;
}
