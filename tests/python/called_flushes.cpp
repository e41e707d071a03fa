// A counter that no function flushes, and useless flushes in a function that is inlined.
#include <immintrin.h>
#include <sys/mman.h>

#include <atomic>

struct Pool {
  alignas(64) std::atomic<long> count;
  alignas(64) long items[8];
};

static inline __attribute__((always_inline)) void flush(void* line) {
  _mm_clflush(line);  // flush
}

static __attribute__((noinline)) long scan(const Pool* pool) {
  long sum = 0;
  for (const long& item : pool->items) sum += item;
  return sum;
}

static __attribute__((noinline)) void grow(Pool* pool) {
  flush(pool->items);  // in vain
}

static __attribute__((noinline)) void publish(Pool* pool, long value) {
  pool->count.store(value, std::memory_order_relaxed);  // never flushed
}

int main() {
  void* const base = reinterpret_cast<void*>(0x100000000000);
  auto* pool = static_cast<Pool*>(mmap(base, 4096, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
  if (pool != base) return 3;
  pool->items[0] = 1;
  flush(pool->items);
  const long sum = scan(pool);
  grow(pool);          // calls grow
  flush(pool->items);  // in vain again
  publish(pool, sum);  // calls publish
  return 0;
}
