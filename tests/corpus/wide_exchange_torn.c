/* A size and its time change together, by an exchange of 16 bytes. Other threads see both or
 * neither, but a crash may leave one. */
#include "case.h"

struct pool {
  _Alignas(LINE) volatile uint64_t size;
  volatile uint64_t time; /* 10 times the size, or newer */
};

static void grow(struct pool* pool, uint64_t size) {
  const uint64_t time = 10 * size;
  IF_FIXED(pool->time = time; pool->size = size;)
  IF_BUG(uint64_t old_size = pool->size; uint64_t old_time = pool->time;
         __asm__ volatile("lock cmpxchg16b %0" : "+m"(*(unsigned __int128*)pool), "+a"(old_size),
                          "+d"(old_time) : "b"(size), "c"(time) : "cc", "memory");)
  persist(pool, LINE);
}

static void run(struct pool* pool) {
  for (uint64_t size = 1; size <= 3; ++size) grow(pool, size);
}

static int check(struct pool* pool) {
  return pool->time < 10 * pool->size ? wrong("the size is newer than its time") : 0;
}
