// Programs of two hosts that share memory: thread t runs on host t % 2. With `verify`, a surviving
// host recovers from the failure of the other one. MISTAKE 1 has a lock that its failed holder
// hides: it isn't persistent before the data change. MISTAKE 2 publishes a message of which a part
// isn't persistent. MISTAKE 0 has neither. Only thread 1 flushes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
  _Alignas(64) _Atomic uint64_t lock;  // 1 + number of the holder's host; 0: free
  _Alignas(64) uint64_t left;          // equal to `right` while the lock is free
  _Alignas(64) uint64_t right;
  _Alignas(64) uint64_t message[7];
  _Atomic uint64_t ready;
  _Alignas(64) uint64_t rest[8];
  _Alignas(64) uint64_t received;
};
static struct pool* pool;

__attribute__((target("clwb"))) static void flush(const void* at, size_t bytes) {
  for (const char* line = at; line < (const char*)at + bytes; line += 64) _mm_clwb((void*)line);
}
static void persist(const void* at, size_t bytes) {
  flush(at, bytes);
  _mm_sfence();
}

static void update(uint64_t host) {
  uint64_t none = 0;
  while (!atomic_compare_exchange_weak(&pool->lock, &none, host + 1)) none = 0;
  if (host == 1 && MISTAKE != 1) persist((const void*)&pool->lock, 8);
  pool->left++;
  if (host == 1) persist(&pool->left, 8);
  pool->right++;
  if (host == 1) persist(&pool->right, 8);
  atomic_store(&pool->lock, 0);
  if (host == 1) persist((const void*)&pool->lock, 8);
}

static void* send_message(void* unused) {
  for (int i = 0; i < 3; ++i) update(1);
  memset(pool->message, 1, sizeof pool->message);
  memset(pool->rest, 1, sizeof pool->rest);
  if (MISTAKE != 2) persist(pool->rest, sizeof pool->rest);
  atomic_store(&pool->ready, 1);  // in the line of `message`
  persist(pool->message, 64);
  if (MISTAKE == 2) persist(pool->rest, sizeof pool->rest);
  return unused;
}

static int verify(void) {
  if (pool->lock == 0 && pool->left != pool->right) return 1;
  for (int i = 0; pool->received != 0 && i < 8; ++i) {
    if (pool->rest[i] == 0) return 2;
  }
  return 0;
}

int main(int count, char** words) {
  int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 4096)) return 9;
  pool = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (count == 3) return verify();
  pthread_t other;
  pthread_create(&other, 0, send_message, 0);
  for (int i = 0; i < 3; ++i) update(0);
  while (atomic_load(&pool->ready) == 0) {
  }
  pool->received = pool->message[0];
  pthread_join(other, 0);
  return 0;
}
