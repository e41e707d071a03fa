// A list of numbers in a file, with mistake number BUG, pushed by THREADS threads.
// `answered_list FILE` pushes; `answered_list list FILE` prints what is there.
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RIGHT, NODE_NOT_FLUSHED, HEAD_NOT_FLUSHED, IN_TWO_STEPS, SET_UP_TORN };
enum { EACH = 4, POOL_BYTES = 4096 };

struct node {
  _Alignas(64) uint64_t value;
  uint64_t next;  // index, from 1 on
};
struct pool {
  _Alignas(64) uint64_t head;
  _Alignas(64) uint64_t length;
  _Alignas(64) uint64_t ready;  // the ready flag of the list; its version is in the next line
  _Alignas(64) uint64_t version;
  struct node nodes[1 + EACH * THREADS];
};
static struct pool* pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((target("clwb"))) static void flush(const void* line) { _mm_clwb((void*)line); }
static void persist(const void* line) {
  flush(line);
  _mm_sfence();
}

static void set_up(void) {
  pool->version = 7;
  flush(&pool->version);
  if (BUG != SET_UP_TORN) _mm_sfence();
  pool->ready = 1;
  persist(&pool->ready);
}

__attribute__((noinline)) static void push(uint64_t i) {
  struct node* node = &pool->nodes[i];
  node->value = 100 + i;  // value
  pthread_mutex_lock(&lock);
  node->next = pool->head;
  if (BUG != NODE_NOT_FLUSHED) persist(node);
  if (BUG == IN_TWO_STEPS) {
    pool->length = pool->length + 1;  // length
    persist(&pool->length);
  }
  pool->head = i;  // head
  if (BUG != HEAD_NOT_FLUSHED) persist(&pool->head);
  pthread_mutex_unlock(&lock);
}

static void* push_all(void* first) {
  for (uint64_t i = (uint64_t)first; i < (uint64_t)first + EACH; ++i) push(i);
  return NULL;
}

static int list(void) {
  printf("version %d\n", pool->ready ? (int)pool->version : -1);
  if (BUG == IN_TWO_STEPS) printf("%d items\n", (int)pool->length);
  uint64_t seen = 0;
  for (uint64_t i = pool->head; i != 0; i = pool->nodes[i].next) {
    if (i > EACH * THREADS || ++seen > EACH * THREADS) return 3;
    printf("%d\n", (int)pool->nodes[i].value);
  }
  return 0;
}

int main(int count, char** words) {
  const int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, POOL_BYTES) != 0) return 1;
  pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 1;
  if (strcmp(words[1], "list") == 0) return list();
  set_up();
  pthread_t threads[THREADS];
  for (uint64_t i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, push_all, (void*)(1 + i * EACH));
  for (uint64_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return 0;
}
