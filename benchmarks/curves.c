/* curves: what published measurements of memories have measured, one loop each.
 *
 *     curves LOOP OPERATIONS REPETITIONS [OPTION]...   (measured.h)
 *
 * chase: loads of lines, each of which says where the next is; a thread. read, write: blocks of
 * lines=N lines, the latter written past the caches; threads=N threads, each in its own part of
 * the memory. All as they lie or, shuffled, at random; bytes=N is the size of a part. An operation
 * is a line.
 *
 * persist: a line that is in the caches is stored to, written back and fenced. persist_past: a line
 * is stored past the caches and fenced. Both use the lines of bytes=N in turn. overwrite: the same
 * 256 bytes are stored past the caches and fenced again and again. */
#include "measured.h"

enum { NUMBERS = LINE_BYTES / sizeof(uint64_t), MOST_THREADS = 64, IN_CACHES = 64 << 20 };

typedef uint64_t line[NUMBERS];

static line* memory;
static uint64_t lines; /* of a part */

static void allocate(void) {
  lines = options.bytes / LINE_BYTES;
  /* What is behind the parts is all that the caches hold when the measurement begins. */
  memory = persistent_memory(options.threads * options.bytes + IN_CACHES);
}

static line** at;

static void set_up_chase(void) {
  allocate();
  uint32_t* order = random_order((uint32_t)lines);
  if (!options.shuffled) {
    for (uint32_t i = 0; i < lines; ++i) order[i] = i;
  }
  for (uint64_t i = 0; i < lines; ++i) {
    *(line**)memory[order[i]] = memory + order[(i + 1) % lines];
  }
  at = (line**)(memory + order[0]);
  free(order);
  memset(memory + lines, 1, IN_CACHES);
}
static void chase(void) {
  for (uint64_t i = 0; i < options.operations; ++i) at = (line**)*at;
  use((uintptr_t)at);
}

static void read_block(line* block) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < options.lines; ++i) {
    for (int k = 0; k < NUMBERS; ++k) sum += block[i][k];
  }
  use(sum);
}
static void write_block(line* block) {
  for (uint64_t i = 0; i < options.lines; ++i) {
    for (int k = 0; k < NUMBERS; ++k) store_past_caches(&block[i][k], i);
  }
}
static void (*work)(line* block);

static void* run_part(void* given) {
  const uint64_t number = (uint64_t)(uintptr_t)given;
  line* part = memory + number * lines;
  const uint64_t blocks = lines / options.lines;
  uint64_t random = number;
  pin((unsigned)number);
  for (uint64_t i = 0; i < options.operations / options.threads / options.lines; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    work(part + (options.shuffled ? (random >> 32) % blocks : i % blocks) * options.lines);
  }
  sfence();
  return NULL;
}
static void run_threads(void) {
  pthread_t threads[MOST_THREADS];
  for (uint64_t i = 1; i < options.threads; ++i) {
    if (pthread_create(&threads[i], NULL, run_part, (void*)(uintptr_t)i) != 0) {
      fail("pthread_create");
    }
  }
  run_part(NULL);
  for (uint64_t i = 1; i < options.threads; ++i) pthread_join(threads[i], NULL);
}

static void set_up_cached(void) {
  lines = options.bytes / LINE_BYTES;
  memory = persistent_memory(options.bytes);
  memset(memory, 1, options.bytes);
}
static void persist(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    line* stored = memory + i % lines;
    (*stored)[0] = i;
    clwb(stored);
    sfence();
  }
}
static void persist_past(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    for (int k = 0; k < NUMBERS; ++k) store_past_caches(&memory[i % lines][k], i);
    sfence();
  }
}
static void overwrite(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    for (int k = 0; k < 4 * NUMBERS; ++k) store_past_caches(&memory[0][k], i);
    sfence();
  }
}

static void (*set_up_loop)(void) = allocate;
static void (*loop)(void) = run_threads;

static void set_up(void) { set_up_loop(); }
static void repeat(void) { loop(); }

int main(int count, char** arguments) {
  const char* name = count > 1 ? arguments[1] : "";
  if (strcmp(name, "chase") == 0) {
    set_up_loop = set_up_chase;
    loop = chase;
  } else if (strcmp(name, "read") == 0) {
    work = read_block;
  } else if (strcmp(name, "write") == 0) {
    work = write_block;
  } else if (strcmp(name, "persist") == 0) {
    set_up_loop = set_up_cached;
    loop = persist;
  } else if (strcmp(name, "persist_past") == 0) {
    set_up_loop = set_up_cached;
    loop = persist_past;
  } else if (strcmp(name, "overwrite") == 0) {
    set_up_loop = set_up_cached;
    loop = overwrite;
  } else {
    fprintf(stderr, "needs chase, read, write, persist, persist_past or overwrite\n");
    return 2;
  }
  return measure(count - 2, arguments + 2);
}
