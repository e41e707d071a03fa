/* microbenchmarks: what `pmemsim calibrate` measures, one thing each. Every one is a loop whose
 * time is decided by one property of the machine, which fit.py computes from it.
 *
 *     microbenchmarks NAME OPERATIONS REPETITIONS [OPTION]...   (measured.h)
 *     microbenchmarks [OPTION]...                               (measure_all.h)
 *
 * bytes=N is the size of the memory that is used, lines=N how many lines are written before they
 * are fenced, threads=N how many threads do the same on memory of their own. */
#include "measured.h"

#include <stdatomic.h>

enum {
  NUMBERS = LINE_BYTES / sizeof(uint64_t),
  PAGE_BYTES = 4096,
  LINES_OF_PAGE = PAGE_BYTES / LINE_BYTES,
  RANDOM_BITS = 1 << 16
};

typedef uint64_t line[NUMBERS];

static char* memory;   /* volatile or persistent, as the measurement wants */
static uint64_t lines; /* of it */
static uint64_t next;  /* the line that is used next */
static line** at;      /* of a chain of pointers */

/* ---- Processor ------------------------------------------------------------------------------ */

#define EIGHT(one) one one one one one one one one

#define ADD(number, sum) __asm__ volatile("add %1, %0" : "+r"(sum) : "r"(number) : "cc");

/* Chains of operations. Processors add constants when they rename registers, in no time, but not
 * registers. */
static void add_register(void) {
  const uint64_t operations = options.operations, one = options.lines;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < operations; i += 8) {
    EIGHT(ADD(one, sum))
  }
  use(sum);
}
static void rotate_and_xor(void) {
  const uint64_t operations = options.operations, one = options.lines;
  uint64_t mixed = 1;
  for (uint64_t i = 0; i < operations; i += 8) {
    EIGHT(__asm__ volatile("rol $7, %0" : "+r"(mixed) : : "cc");
          __asm__ volatile("xor %1, %0" : "+r"(mixed) : "r"(one) : "cc");)
  }
  use(mixed);
}

/* Additions and loads that don't depend on each other, two to one: as many a cycle as the processor
 * takes in, where it has units for four additions and two loads. */
static void instruction(void) {
  static volatile uint64_t numbers[2];
  const uint64_t operations = options.operations, one = options.lines;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (uint64_t i = 0; i < operations; i += 48) {
    EIGHT(ADD(one, a) ADD(one, b) use(numbers[0]); ADD(one, c) ADD(one, d) use(numbers[1]);)
  }
  use(a + b + c + d);
}

static void multiply(void) {
  uint64_t product = 3;
  for (uint64_t i = 0; i < options.operations; ++i) {
    product *= 0x2545f4914f6cdd1du;
    use(product);
  }
}

/* Of 32 bits. */
static void divide(void) {
  uint32_t quotient = 0x7fffffff;
  uint32_t divisor = (uint32_t)options.operations | 1;
  for (uint64_t i = 0; i < options.operations; ++i) {
    quotient = quotient / divisor + 0x7ffffff1;
    use(quotient);
  }
}

static void locked(void) {
  static atomic_uint_fast64_t counter;
  const uint64_t operations = options.operations; /* a load less in each round */
  for (uint64_t i = 0; i < operations; ++i) atomic_fetch_add(&counter, 1);
}

/* Branches by the bytes of `memory`, either way: random, or always the same. */
static void set_up_branches(int random) {
  memory = volatile_memory(RANDOM_BITS);
  for (int i = 0; i < RANDOM_BITS; ++i) memory[i] = (char)(random ? random_number() >> 63 : 1);
}
static void set_up_random_branches(void) { set_up_branches(1); }
static void set_up_even_branches(void) { set_up_branches(0); }
static void branch(void) {
  uint64_t taken = 0;
  for (uint64_t i = 0; i < options.operations; ++i) {
    if (memory[i % RANDOM_BITS]) {
      ++taken;
      use(taken); /* so that the branch stays one */
    }
  }
  use(taken);
}

/* Calls through pointers: of random functions, or always of the same. */
enum { TARGETS = 16 };
static uint64_t (*targets[RANDOM_BITS])(uint64_t);
#define TARGET(number)                                                        \
  static __attribute__((noinline)) uint64_t target_##number(uint64_t value) { \
    return value ^ (number + 1);                                              \
  }
TARGET(0)
TARGET(1)
TARGET(2)
TARGET(3)
TARGET(4)
TARGET(5)
TARGET(6)
TARGET(7)
TARGET(8)
TARGET(9)
TARGET(10)
TARGET(11)
TARGET(12)
TARGET(13)
TARGET(14)
TARGET(15)

static void set_up_targets(int random) {
  static uint64_t (*const all[TARGETS])(uint64_t) = {
      target_0, target_1, target_2,  target_3,  target_4,  target_5,  target_6,  target_7,
      target_8, target_9, target_10, target_11, target_12, target_13, target_14, target_15};
  for (int i = 0; i < RANDOM_BITS; ++i) {
    targets[i] = all[random ? (random_number() >> 32) % TARGETS : 0];
  }
}
static void set_up_random_targets(void) { set_up_targets(1); }
static void set_up_even_targets(void) { set_up_targets(0); }
static void call(void) {
  uint64_t value = 0;
  for (uint64_t i = 0; i < options.operations; ++i) value += targets[i % RANDOM_BITS](i);
  use(value);
}

/* ---- Loads ---------------------------------------------------------------------------------- */

/* One of the lines of a place, another one for each, so that all sets of the caches are used. */
static char* line_of(uint64_t place, uint64_t stride) {
  return memory + place * stride +
         (place + place / LINES_OF_PAGE) % (stride / LINE_BYTES) * LINE_BYTES;
}

/* A circle of pointers through all places of the memory, `stride` bytes apart, in random order. */
static void make_circle(uint64_t stride) {
  const uint32_t count = (uint32_t)(options.bytes / stride);
  uint32_t* order = random_order(count);
  for (uint32_t i = 0; i < count; ++i) {
    *(char**)line_of(order[i], stride) = line_of(order[(i + 1) % count], stride);
  }
  at = (line**)line_of(order[0], stride);
  free(order);
}
static void set_up_lines(void) {
  memory = volatile_memory(options.bytes);
  make_circle(LINE_BYTES);
}
static void set_up_persistent_lines(void) {
  memory = persistent_memory(options.bytes);
  make_circle(LINE_BYTES);
}
static void set_up_pages(void) {
  memory = volatile_memory(options.bytes);
  make_circle(PAGE_BYTES);
}

static void load(void) {
  for (uint64_t i = 0; i < options.operations; ++i) at = (line**)*at;
  use((uintptr_t)at);
}

/* Loads of random lines that don't depend on each other. */
static void set_up_memory(void) {
  memory = volatile_memory(options.bytes);
  lines = options.bytes / LINE_BYTES;
}
static void independent_load(void) {
  uint64_t sum = 0;
  uint64_t number = next;
  for (uint64_t i = 0; i < options.operations; ++i) {
    number = number * 6364136223846793005u + 1442695040888963407u;
    sum += *(uint64_t*)(memory + (number >> 32) % lines * LINE_BYTES);
  }
  next = number;
  use(sum);
}

/* Two loads of memory, and between them blocks of eight of something and the instructions of their
 * loop: the second load begins before the first has ended, unless there is no room for all that
 * lies between. */
static line** other; /* of the same circle, half-way round */
static void set_up_two_loads(void) {
  set_up_lines();
  other = at;
  for (uint64_t i = options.bytes / LINE_BYTES / 2; i > 0; --i) other = (line**)*other;
}
#define TWO_LOADS(name, one)                                                            \
  static void name(void) {                                                              \
    static volatile uint64_t number;                                                    \
    for (uint64_t i = 0; i < options.operations; ++i) {                                 \
      line*** const chains[] = {&at, &other};                                           \
      for (int k = 0; k < 2; ++k) {                                                     \
        *chains[k] = (line**)**chains[k];                                               \
        _Pragma("clang loop unroll(disable)") for (uint64_t blocks = options.lines / 8; \
                                                   blocks > 0; --blocks) {              \
          EIGHT(one)                                                                    \
        }                                                                               \
      }                                                                                 \
    }                                                                                   \
    use((uintptr_t)at + (uintptr_t)other + number);                                     \
  }
TWO_LOADS(instructions_between, __asm__ volatile("test %0, %0" : : "r"(blocks) : "cc");)
TWO_LOADS(loads_between, (void)number;)
TWO_LOADS(stores_between, number = 1;)

/* ---- Writing back --------------------------------------------------------------------------- */

static void set_up_persistent(void) {
  memory = persistent_memory(options.bytes);
  lines = options.bytes / LINE_BYTES;
}

static uint64_t* next_line(void) {
  uint64_t* chosen = (uint64_t*)(memory + next * LINE_BYTES);
  if (++next == lines) next = 0;
  return chosen;
}

/* `write` a line after the other, and fence each `options.lines`. */
#define WRITE_AND_FENCE(name, write, fence)                            \
  static void name(void) {                                             \
    for (uint64_t i = 0; i < options.operations; i += options.lines) { \
      for (uint64_t k = 0; k < options.lines; ++k) {                   \
        uint64_t* chosen = next_line();                                \
        write;                                                         \
      }                                                                \
      fence();                                                         \
    }                                                                  \
  }

static void write_past_caches(uint64_t* chosen, uint64_t value) {
  for (int k = 0; k < NUMBERS; ++k) store_past_caches(chosen + k, value);
}

WRITE_AND_FENCE(store_clwb_sfence, (*chosen = i, clwb(chosen)), sfence)
WRITE_AND_FENCE(store_clwb_mfence, (*chosen = i, clwb(chosen)), mfence)
WRITE_AND_FENCE(store_clflushopt_sfence, (*chosen = i, clflushopt(chosen)), sfence)
WRITE_AND_FENCE(store_clflush_sfence, (*chosen = i, clflush(chosen)), sfence)
WRITE_AND_FENCE(nontemporal_sfence, write_past_caches(chosen, i), sfence)
WRITE_AND_FENCE(nontemporal_mfence, write_past_caches(chosen, i), mfence)

/* As store_clwb_mfence, and then a load of the line, which says where the next one is. */
static void load_after_clwb(void) {
  uint64_t add = 0;
  for (uint64_t i = 0; i < options.operations; ++i) {
    uint64_t* chosen = (uint64_t*)((char*)next_line() + add);
    chosen[1] = i;
    clwb(chosen);
    mfence();
    add = *(volatile uint64_t*)chosen;
  }
}

/* A line is written back and fenced, which a locked instruction waits for; behind that is a chain
 * of `options.lines` loads. */
static void set_up_lock_and_loads(void) {
  memory = volatile_memory(options.bytes);
  make_circle(LINE_BYTES);
  memory = persistent_memory(LINE_BYTES);
  lines = 1;
}
static void load_behind_locked(void) {
  static atomic_uint_fast64_t counter;
  const uint64_t operations = options.operations;
  for (uint64_t i = 0; i < operations; ++i) {
    uint64_t* chosen = next_line();
    *chosen = i;
    flush(chosen);
    sfence();
    atomic_fetch_add(&counter, 1);
    for (uint64_t k = 0; k < options.lines; ++k) at = (line**)*at;
  }
  use((uintptr_t)at);
}

/* ---- Several threads ------------------------------------------------------------------------ */

/* Each thread runs `work` on its part of the memory: so many lines, from where the repetition
 * before has ended. */
typedef struct {
  unsigned number;
  uint64_t* from;
  uint64_t lines;
} part;

static void (*work)(const part*);

static void* run_part(void* given) {
  const part* own = given;
  pin(own->number);
  work(own);
  return NULL;
}

static void run_threads(void) {
  enum { MOST = 64 };
  pthread_t threads[MOST];
  part parts[MOST];
  if (options.threads > MOST) {
    fprintf(stderr, "at most %d threads\n", MOST);
    exit(2);
  }
  const uint64_t of_thread = lines / options.threads;
  const uint64_t count = options.operations / options.threads;
  if (next + count > of_thread) next = 0;
  for (unsigned i = 0; i < options.threads; ++i) {
    parts[i] = (part){i, (uint64_t*)memory + (of_thread * i + next) * NUMBERS, count};
    if (i > 0 && pthread_create(&threads[i], NULL, run_part, &parts[i]) != 0)
      fail("pthread_create");
  }
  work(&parts[0]);
  for (unsigned i = 1; i < options.threads; ++i) pthread_join(threads[i], NULL);
  next += count;
}

static void read_part(const part* own) {
  uint64_t sum = 0;
  const uint64_t* number = own->from;
  for (const uint64_t* end = number + own->lines * NUMBERS; number != end; ++number) sum += *number;
  use(sum);
}
static void write_part(const part* own) {
  uint64_t* number = own->from;
  for (uint64_t* end = number + own->lines * NUMBERS; number != end; ++number) {
    store_past_caches(number, own->number);
  }
  sfence();
}
static void flush_part(const part* own) {
  uint64_t* number = own->from;
  for (uint64_t* end = number + own->lines * NUMBERS; number != end; number += NUMBERS) {
    *number = own->lines;
    clwb(number);
  }
  sfence();
}
static void set_up_reading(void) {
  set_up_memory();
  work = read_part;
}
static void set_up_writing(void) {
  set_up_persistent();
  work = write_part;
}

static void set_up_flushing(void) {
  set_up_persistent();
  work = flush_part;
}

/* All threads change one line, by locked instructions or under a lock. */
static _Alignas(LINE_BYTES) atomic_uint_fast64_t shared_counter;
static _Alignas(LINE_BYTES) pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t locked_counter;

static void add_to_line(const part* own) {
  for (uint64_t i = 0; i < own->lines; ++i) atomic_fetch_add(&shared_counter, 1);
}
static void take_lock(const part* own) {
  for (uint64_t i = 0; i < own->lines; ++i) {
    pthread_mutex_lock(&shared_lock);
    ++locked_counter;
    pthread_mutex_unlock(&shared_lock);
  }
}
static void set_up_contended_line(void) { work = add_to_line; }
static void set_up_contended_lock(void) { work = take_lock; }

/* Two threads hand a line to each other. */
static _Alignas(LINE_BYTES) atomic_uint_fast64_t turn;

static void take_turns(const part* own) {
  for (uint64_t i = own->number; i < options.operations; i += 2) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != i) {
    }
    atomic_store_explicit(&turn, i + 1, memory_order_release);
  }
}
static void set_up_turns(void) { work = take_turns; }
static void hand_over(void) {
  atomic_store(&turn, 0);
  run_threads();
}

/* --------------------------------------------------------------------------------------------- */

static void nothing(void) {}

static const struct benchmark {
  const char* name;
  void (*set_up)(void);
  void (*repeat)(void);
} benchmarks[] = {
    {"add_register", nothing, add_register},
    {"rotate_and_xor", nothing, rotate_and_xor},
    {"instruction", nothing, instruction},
    {"instructions_between", set_up_two_loads, instructions_between},
    {"loads_between", set_up_two_loads, loads_between},
    {"stores_between", set_up_two_loads, stores_between},
    {"multiply", nothing, multiply},
    {"divide", nothing, divide},
    {"locked", nothing, locked},
    {"random_branch", set_up_random_branches, branch},
    {"even_branch", set_up_even_branches, branch},
    {"random_target", set_up_random_targets, call},
    {"even_target", set_up_even_targets, call},
    {"load", set_up_lines, load},
    {"persistent_load", set_up_persistent_lines, load},
    {"page_load", set_up_pages, load},
    {"independent_load", set_up_memory, independent_load},
    {"store_clwb_sfence", set_up_persistent, store_clwb_sfence},
    {"store_clwb_mfence", set_up_persistent, store_clwb_mfence},
    {"store_clflushopt_sfence", set_up_persistent, store_clflushopt_sfence},
    {"store_clflush_sfence", set_up_persistent, store_clflush_sfence},
    {"nontemporal_sfence", set_up_persistent, nontemporal_sfence},
    {"nontemporal_mfence", set_up_persistent, nontemporal_mfence},
    {"load_after_clwb", set_up_persistent, load_after_clwb},
    {"load_behind_locked", set_up_lock_and_loads, load_behind_locked},
    {"read_bandwidth", set_up_reading, run_threads},
    {"write_bandwidth", set_up_writing, run_threads},
    {"flush_bandwidth", set_up_flushing, run_threads},
    {"hand_over", set_up_turns, hand_over},
    {"contended_line", set_up_contended_line, run_threads},
    {"contended_lock", set_up_contended_lock, run_threads},
};

static const struct benchmark* chosen_benchmark;

static void set_up(void) { chosen_benchmark->set_up(); }
static void repeat(void) { chosen_benchmark->repeat(); }

/* Returns 0 if there is no such benchmark. */
static int choose_benchmark(const char* name) {
  for (unsigned i = 0; i < sizeof benchmarks / sizeof *benchmarks; ++i) {
    if (strcmp(name, benchmarks[i].name) == 0) chosen_benchmark = &benchmarks[i];
  }
  return chosen_benchmark != NULL;
}

#ifdef PMEMSIM_NATIVE
#include "measure_all.h"
#endif

int main(int count, char** arguments) {
#ifdef PMEMSIM_NATIVE
  if (count < 2 || strchr(arguments[1], '=') != NULL) {
    return measure_all(count - 1, arguments + 1);
  }
#endif
  if (count < 2 || !choose_benchmark(arguments[1])) {
    fprintf(stderr, "%s: there is no such micro-benchmark\n", count > 1 ? arguments[1] : "(none)");
    return 2;
  }
  return measure(count - 2, arguments + 2);
}
