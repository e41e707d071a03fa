/* measured.h: what programs share that measure themselves natively and are recorded as well.
 *
 * Such a program does the same operations again and again and, compiled with -DPMEMSIM_NATIVE,
 * prints the time of each repetition: {"operations": 10000, "total_ns": [170123, 169876, ...]}. The
 * last repetition is its region of interest, so a recording of it, which those before have warmed
 * up, has exactly one.
 *
 * A program includes this file once, defines `set_up` and `repeat`, and takes the arguments
 *
 *     PROGRAM OPERATIONS REPETITIONS [OPTION]...
 *
 * Options: huge (huge pages, where the system gives some, instead of 4 KiB ones), file=PATH (what
 * is persistent lies in this file, of a DAX mount, instead of DRAM), shuffled, bytes=N, lines=N,
 * threads=N, which mean what the program says. */
#ifndef PMEMSIM_MEASURED_H
#define PMEMSIM_MEASURED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cpuid.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef PMEMSIM_NATIVE
static void pm_roi_begin(void) {}
static void pm_roi_end(void) {}
#else
#include <pmemsim/pm.h>
#endif

enum { LINE_BYTES = 64 };

/* No program needs all of what follows. */
#define UNUSED __attribute__((unused))

/* Where persistent memory is mapped: the range that is given when the program is recorded. */
#define PERSISTENT_BASE ((char*)0x100000000000)

static struct {
  uint64_t operations;
  unsigned repetitions;
  uint64_t bytes, lines;
  unsigned threads;
  int huge, shuffled;
  const char* file;
} options = {.lines = 1, .threads = 1};

/* What the program defines: makes its data; does all operations once. */
static void set_up(void);
static void repeat(void);

static void fail(const char* what) {
  perror(what);
  exit(2);
}

static void choose_pages(void* memory, uint64_t bytes) {
  /* Refused where the kernel has no huge pages, and then all pages are small. */
  (void)madvise(memory, bytes, options.huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* Memory that isn't persistent, zero, aligned to 2 MiB so that huge pages fit. */
UNUSED static void* volatile_memory(uint64_t bytes) {
  const uint64_t huge_page = 2u << 20;
  char* memory =
      mmap(NULL, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  memory += (huge_page - (uintptr_t)memory % huge_page) % huge_page;
  choose_pages(memory, bytes);
  return memset(memory, 0, bytes);
}

/* Persistent memory, zero; once a program. */
UNUSED static void* persistent_memory(uint64_t bytes) {
  int descriptor = -1;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (options.file != NULL) {
    descriptor = open(options.file, O_RDWR);
    if (descriptor < 0) fail(options.file);
    flags = MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED_NOREPLACE;
  }
  void* memory = mmap(PERSISTENT_BASE, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (memory == MAP_FAILED) fail(options.file != NULL ? options.file : "mmap");
  choose_pages(memory, bytes);
  return memset(memory, 0, bytes);
}

/* xorshift64*: the same numbers in each run. */
static uint64_t random_state = 0x9e3779b97f4a7c15u;
static uint64_t random_number(void) {
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 0x2545f4914f6cdd1du;
}

/* The numbers below `count`, in random order. */
UNUSED static uint32_t* random_order(uint32_t count) {
  uint32_t* order = malloc(count * sizeof *order);
  if (order == NULL) fail("malloc");
  for (uint32_t i = 0; i < count; ++i) order[i] = i;
  for (uint32_t i = count - 1; i > 0; --i) {
    const uint32_t other = (uint32_t)(random_number() % (i + 1));
    const uint32_t last = order[i];
    order[i] = order[other];
    order[other] = last;
  }
  return order;
}

UNUSED static void clwb(const void* line) {
  __asm__ volatile("clwb %0" : : "m"(*(const char*)line) : "memory");
}
UNUSED static void clflushopt(const void* line) {
  __asm__ volatile("clflushopt %0" : : "m"(*(const char*)line) : "memory");
}
UNUSED static void clflush(const void* line) {
  __asm__ volatile("clflush %0" : : "m"(*(const char*)line) : "memory");
}
UNUSED static void sfence(void) { __asm__ volatile("sfence" : : : "memory"); }
UNUSED static void mfence(void) { __asm__ volatile("mfence" : : : "memory"); }
UNUSED static void store_past_caches(uint64_t* at, uint64_t value) {
  __asm__ volatile("movnti %1, %0" : "=m"(*at) : "r"(value) : "memory");
}

/* Writes a line back by the best instruction that the processor has. */
UNUSED static void flush(const void* line) {
  static int best;
  if (best == 0) {
    unsigned a, b = 0, c, d;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    best = b & (1u << 24) ? 1 : b & (1u << 23) ? 2 : 3;
  }
  if (best == 1) {
    clwb(line);
  } else if (best == 2) {
    clflushopt(line);
  } else {
    clflush(line);
  }
}

/* Keeps the value from being optimised away. */
UNUSED static void use(uint64_t value) { __asm__ volatile("" : : "r"(value)); }

/* Gives the calling thread the allowed processor of that number, so that it isn't moved about. */
static void pin(unsigned number) {
  cpu_set_t allowed;
  static cpu_set_t all;
  static int known;
  if (!known) {
    if (sched_getaffinity(0, sizeof all, &all) != 0) fail("sched_getaffinity");
    known = 1;
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all) || number-- > 0) continue;
    CPU_ZERO(&allowed);
    CPU_SET(cpu, &allowed);
    if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) fail("sched_setaffinity");
    return;
  }
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void read_option(const char* text) {
  if (strcmp(text, "huge") == 0) {
    options.huge = 1;
  } else if (strcmp(text, "shuffled") == 0) {
    options.shuffled = 1;
  } else if (strncmp(text, "file=", 5) == 0) {
    options.file = text + 5;
  } else if (strncmp(text, "bytes=", 6) == 0) {
    options.bytes = strtoull(text + 6, NULL, 10);
  } else if (strncmp(text, "lines=", 6) == 0) {
    options.lines = strtoull(text + 6, NULL, 10);
  } else if (strncmp(text, "threads=", 8) == 0) {
    options.threads = (unsigned)strtoul(text + 8, NULL, 10);
  } else {
    fprintf(stderr, "%s: unknown option\n", text);
    exit(2);
  }
}

/* Runs the program: `arguments` are OPERATIONS REPETITIONS [OPTION]... */
static int measure(int count, char** arguments) {
  if (count < 2) {
    fprintf(stderr, "needs OPERATIONS REPETITIONS [OPTION]...\n");
    return 2;
  }
  options.operations = strtoull(arguments[0], NULL, 10);
  options.repetitions = (unsigned)strtoul(arguments[1], NULL, 10);
  for (int i = 2; i < count; ++i) read_option(arguments[i]);
  if (options.operations == 0 || options.repetitions == 0 || options.lines == 0 ||
      options.threads == 0) {
    fprintf(stderr, "needs at least one operation, repetition, line and thread\n");
    return 2;
  }
  pin(0);
  set_up();
  uint64_t* total_ns = calloc(options.repetitions, sizeof *total_ns);
  if (total_ns == NULL) fail("calloc");
  for (unsigned i = 0; i < options.repetitions; ++i) {
    if (i + 1 == options.repetitions) pm_roi_begin();
    const uint64_t begin = now_ns();
    repeat();
    total_ns[i] = now_ns() - begin;
  }
  pm_roi_end();
#ifdef PMEMSIM_NATIVE /* times while it is recorded say nothing */
  printf("{\"operations\": %llu, \"total_ns\": [", (unsigned long long)options.operations);
  for (unsigned i = 0; i < options.repetitions; ++i) {
    printf("%s%llu", i > 0 ? ", " : "", (unsigned long long)total_ns[i]);
  }
  printf("]}\n");
#endif
  return 0;
}

#endif
