/* measure_all: measures every figure of a machine, and writes a file of measurements:
 *
 *     microbenchmarks [file=PATH] [rounds=N] [only=TEXT]
 *
 * It needs nothing but the system. docs/guides/write_machine.md describes the file, which it prints
 * to the standard output; the standard error gets a line "NUMBER OF_ALL NAME" before each figure.
 * Each figure is measured by a process of its own, in three rounds: a disturbance of seconds
 * affects only one round of a figure. Figures that vary get up to nine rounds more and keep their
 * three fastest, since other programs and virtual machines only make a loop slower. With only=TEXT,
 * it measures the figures whose names contain TEXT. */
#ifndef PMEMSIM_MEASURE_ALL_H
#define PMEMSIM_MEASURE_ALL_H

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

enum {
  ROUNDS = 3,
  MOST_ROUNDS = 100,
  ROUNDS_MORE = 9, /* of figures that vary */
  REPETITIONS = 7, /* of a round, after one that warms up */
  TIMES = (MOST_ROUNDS + ROUNDS_MORE) * REPETITIONS,
  TIMEOUT_MS = 60000, /* a repetition takes milliseconds, or seconds where threads contend */
  MOST_FIGURES = 256,
  MOST_CPUS = 64,
  LEVELS = 4,
  NO_HUGE_PAGES = 3 /* a process's status */
};
#define USABLE_SPREAD 0.15 /* measurements.py has the same */
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

/* ---- Processor ------------------------------------------------------------------------------ */

static struct {
  char model[256], flags[8192];
  int cpus, first_cpu, node;
  uint64_t cache_bytes[LEVELS], cache_ways[LEVELS];
} processor = {.node = -1};

static int has_flag(const char* flag) {
  char words[8192];
  snprintf(words, sizeof words, "%s", processor.flags);
  for (char* word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
    if (strcmp(word, flag) == 0) return 1;
  }
  return 0;
}

/* Copies the value of a line "KEY : VALUE", without the characters that JSON escapes. */
static void copy_value(const char* line, const char* key, char* value, size_t size) {
  const char* colon = strchr(line, ':');
  if (value[0] != '\0' || colon == NULL || strncmp(line, key, strlen(key)) != 0) return;
  const char* from = colon + 1 + strspn(colon + 1, " ");
  size_t length = 0;
  for (; *from != '\0' && length + 1 < size; ++from) {
    if (*from >= ' ' && *from != '"' && *from != '\\') value[length++] = *from;
  }
  value[length] = '\0';
}

static void describe_model(void) {
  FILE* file = fopen("/proc/cpuinfo", "r");
  char line[16384];
  if (file == NULL) fail("/proc/cpuinfo");
  while (fgets(line, sizeof line, file) != NULL) {
    copy_value(line, "model name", processor.model, sizeof processor.model);
    copy_value(line, "flags", processor.flags, sizeof processor.flags);
  }
  fclose(file);
}

/* Reads a word from a file of the first processor's folder. Returns 0 if there is none. */
static int read_word(char* word, const char* format, ...) {
  char path[256];
  va_list values;
  va_start(values, format);
  const int length =
      snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/", processor.first_cpu);
  vsnprintf(path + length, sizeof path - (size_t)length, format, values);
  va_end(values);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  const int found = fscanf(file, "%63s", word);
  fclose(file);
  return found == 1;
}

static void describe_caches(void) {
  char word[64], kind[64];
  for (int index = 0; read_word(word, "cache/index%d/level", index); ++index) {
    const unsigned long level = strtoul(word, NULL, 10);
    if (level >= LEVELS || !read_word(kind, "cache/index%d/type", index)) continue;
    if (strcmp(kind, "Instruction") == 0) continue;
    if (read_word(word, "cache/index%d/size", index)) {
      char* unit;
      const uint64_t size = strtoull(word, &unit, 10);
      processor.cache_bytes[level] = size * (*unit == 'K' ? KIB : *unit == 'M' ? MIB : 1);
    }
    if (read_word(word, "cache/index%d/ways_of_associativity", index)) {
      processor.cache_ways[level] = strtoull(word, NULL, 10);
    }
  }
}

static void describe_processor(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) fail("sched_getaffinity");
  processor.cpus = CPU_COUNT(&allowed);
  while (!CPU_ISSET(processor.first_cpu, &allowed)) ++processor.first_cpu;
  describe_model();
  describe_caches();
  char path[128];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", processor.first_cpu);
  DIR* folder = opendir(path);
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    sscanf(entry->d_name, "node%d", &processor.node);
  }
  if (folder != NULL) closedir(folder);
}

static uint64_t available_bytes(void) {
  FILE* file = fopen("/proc/meminfo", "r");
  char line[256];
  unsigned long long kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
  }
  if (file != NULL) fclose(file);
  return kib * KIB;
}

/* ---- Figures -------------------------------------------------------------------------------- */

static struct figure {
  char name[80];
  const char* loop;
  uint64_t operations, bytes, lines;
  unsigned threads;
  int huge, persistent;
  const char* needs; /* a feature by the name of /proc/cpuinfo */
  char missing[160]; /* why it can't be measured */
  double times[TIMES];
  int count;
} figures[MOST_FIGURES];
static int figures_count;

static const char* only = ""; /* text that names of figures contain */
static int rounds = ROUNDS;

/* Adds a figure: `more` has the values that aren't zero. */
static void add(struct figure more, const char* format, ...) {
  if (figures_count == MOST_FIGURES) abort();
  struct figure* added = &figures[figures_count++];
  *added = more;
  if (added->threads == 0) added->threads = 1;
  va_list values;
  va_start(values, format);
  vsnprintf(added->name, sizeof added->name, format, values);
  va_end(values);
  if (strstr(added->name, only) == NULL) --figures_count;
}
#define FIGURE(...) ((struct figure){__VA_ARGS__})

static const char* size_name(uint64_t bytes) {
  static char name[32];
  const int small = bytes < MIB;
  snprintf(name, sizeof name, "%llu %s", (unsigned long long)(bytes / (small ? KIB : MIB)),
           small ? "KiB" : "MiB");
  return name;
}

static void list_arithmetic(void) {
  add(FIGURE(.loop = "add_register", .operations = 1600000), "addition of registers");
  add(FIGURE(.loop = "rotate_and_xor", .operations = 800000), "rotation and exclusive or");
  add(FIGURE(.loop = "multiply", .operations = 300000), "multiplication");
  add(FIGURE(.loop = "instruction", .operations = 1800000), "independent instruction");
  add(FIGURE(.loop = "divide", .operations = 300000), "division");
  add(FIGURE(.loop = "locked", .operations = 300000), "locked addition");
  add(FIGURE(.loop = "random_branch", .operations = 1 << 18), "branch, random");
  add(FIGURE(.loop = "even_branch", .operations = 1 << 18), "branch, always taken");
  add(FIGURE(.loop = "random_target", .operations = 1 << 17), "call, random target");
  add(FIGURE(.loop = "even_target", .operations = 1 << 17), "call, always the same target");
}

/* Dependent loads. The largest memory is four times the L3, if there is so much. */
static uint64_t list_loads(void) {
  static const uint64_t kib[] = {16,    128,   256,   512,   1024,   2048,  3072,
                                 4096,  5120,  6144,  7168,  8192,   10240, 12288,
                                 16384, 24576, 32768, 65536, 131072, 262144};
  const uint64_t l3 = processor.cache_bytes[3] / MIB * MIB, most = available_bytes() / 3;
  uint64_t largest = 0;
  for (unsigned i = 0; i < sizeof kib / sizeof *kib && kib[i] * KIB <= most; ++i) {
    largest = kib[i] * KIB;
    add(FIGURE(.loop = "load", .operations = 100000, .bytes = largest), "load, %s",
        size_name(largest));
  }
  for (uint64_t size = l3; l3 > 0 && size <= 4 * l3 && size <= most; size *= 2) {
    if (size <= largest) continue;
    largest = size;
    add(FIGURE(.loop = "load", .operations = 100000, .bytes = size), "load, %s", size_name(size));
  }
  for (uint64_t size = 16 * MIB; size < largest; size *= 4) {
    add(FIGURE(.loop = "load", .operations = 200000, .bytes = size, .huge = 1),
        "load, %s, huge pages", size_name(size));
  }
  add(FIGURE(.loop = "load", .operations = 200000, .bytes = largest, .huge = 1),
      "load, %s, huge pages", size_name(largest));
  return largest;
}

static void list_pages(void) {
  static const uint64_t counts[] = {16,  32,  48,  64,   80,   96,   112,  128,  192,  256,
                                    384, 512, 768, 1024, 1280, 1536, 2048, 3072, 4096, 8192};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; ++i) {
    add(FIGURE(.loop = "page_load", .operations = 100000, .bytes = counts[i] * PAGE_BYTES),
        "load of %llu pages", (unsigned long long)counts[i]);
  }
}

/* Numbers of instructions between two loads: when they fill a queue, the second is delayed. */
static void list_between(void) {
  static const struct {
    const char *loop, *kind;
    uint64_t counts[12];
  } queues[] = {
      {"instructions_between", "instructions", {96, 128, 160, 192, 224, 256, 320, 384, 512}},
      {"loads_between", "loads", {32, 48, 64, 72, 96, 128, 160, 192, 256}},
      {"stores_between", "stores", {32, 40, 48, 56, 64, 72, 96, 128}},
  };
  for (unsigned i = 0; i < sizeof queues / sizeof *queues; ++i) {
    for (const uint64_t* count = queues[i].counts; *count != 0; ++count) {
      add(FIGURE(.loop = queues[i].loop, .operations = 5000, .bytes = 64 * MIB, .lines = *count),
          "two loads, %llu %s between", (unsigned long long)*count, queues[i].kind);
    }
  }
}

static void list_write_backs(void) {
  /* Lines are in the L1, or in the L2 if one fence orders many. */
  const struct figure few = {.operations = 20480, .bytes = 16 * KIB, .lines = 1, .persistent = 1};
  struct figure one = few;
#define ADD_FIGURE(of_loop, feature, ...) \
  (one.loop = of_loop, one.needs = feature, add(one, __VA_ARGS__))
  ADD_FIGURE("store_clwb_sfence", "clwb", "store, clwb, sfence");
  ADD_FIGURE("store_clwb_mfence", "clwb", "store, clwb, mfence");
  ADD_FIGURE("store_clflushopt_sfence", "clflushopt", "store, clflushopt, sfence");
  ADD_FIGURE("store_clflush_sfence", NULL, "store, clflush, sfence");
  ADD_FIGURE("nontemporal_sfence", NULL, "non-temporal line, sfence");
  ADD_FIGURE("nontemporal_mfence", NULL, "non-temporal line, mfence");
  ADD_FIGURE("load_after_clwb", "clwb", "store, clwb, mfence, load");
  one.bytes = LINE_BYTES;
  ADD_FIGURE("store_clwb_sfence", "clwb", "store, clwb, sfence, always the same line");
  one.bytes = 256 * KIB;
  for (one.lines = 2; one.lines <= 256; one.lines *= 2) {
    ADD_FIGURE("store_clwb_sfence", "clwb", "store, clwb, sfence, %d lines a fence",
               (int)one.lines);
  }
  for (one.lines = 8; one.lines <= 64; one.lines *= 8) {
    ADD_FIGURE("nontemporal_sfence", NULL, "non-temporal line, sfence, %d lines a fence",
               (int)one.lines);
  }
  one.bytes = 128 * KIB;
  one.operations = 20000;
  for (one.lines = 1; one.lines <= 33; one.lines += 32) {
    ADD_FIGURE("load_behind_locked", NULL, "write back, locked addition, %d loads", (int)one.lines);
  }
#undef ADD_FIGURE
}

/* Threads that each use a part of memory, which is larger than most caches. */
static void list_bandwidths(unsigned threads) {
  const uint64_t count = (uint64_t)threads << 19, bytes = count * LINE_BYTES;
  add(FIGURE(.loop = "read_bandwidth", .operations = count, .bytes = bytes, .threads = threads),
      "read a line, %u threads", threads);
  add(FIGURE(.loop = "write_bandwidth", .operations = count, .bytes = bytes, .threads = threads,
             .persistent = 1),
      "non-temporal line, %u threads", threads);
  add(FIGURE(.loop = "flush_bandwidth", .operations = count / 8, .bytes = bytes, .threads = threads,
             .persistent = 1, .needs = "clwb"),
      "store, clwb of a line, %u threads", threads);
}

static void list_threads(void) {
  const unsigned cpus = processor.cpus < MOST_CPUS ? (unsigned)processor.cpus : MOST_CPUS;
  const uint64_t most = available_bytes() / 3;
  for (unsigned threads = 1; threads <= cpus; threads *= 2) {
    const unsigned count = threads * 2 > cpus ? cpus : threads;
    if (((uint64_t)count << 19) * LINE_BYTES <= most) list_bandwidths(count);
  }
  add(FIGURE(.loop = "hand_over", .operations = 20000, .threads = 2), "hand a line over");
  for (unsigned threads = 2; threads <= 2 || threads <= cpus; threads *= 2) {
    add(FIGURE(.loop = "contended_line", .operations = 20000ull * threads, .threads = threads),
        "locked addition to one line, %u threads", threads);
    add(FIGURE(.loop = "contended_lock", .operations = 20000ull * threads, .threads = threads),
        "lock and unlock, %u threads", threads);
  }
}

static void list_figures(const char* file) {
  list_arithmetic();
  const uint64_t largest = list_loads();
  if (file != NULL) {
    add(FIGURE(.loop = "persistent_load", .operations = 100000, .bytes = 256 * MIB,
               .persistent = 1),
        "load, 256 MiB, persistent");
  }
  list_pages();
  add(FIGURE(.loop = "independent_load", .operations = 100000, .bytes = largest),
      "independent load, %s", size_name(largest));
  list_between();
  list_write_backs();
  list_threads();
}

/* ---- Measuring ------------------------------------------------------------------------------ */

static void set_up(void);
static void repeat(void);
static int choose_benchmark(const char* name);

/* True if at least half of the memory has huge pages. */
static int huge_pages_given(uint64_t bytes) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  unsigned long long kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "AnonHugePages: %llu", &kib) == 1) break;
  }
  if (file != NULL) fclose(file);
  return kib * KIB >= bytes / 2;
}

/* The process of a figure: writes the times of all repetitions. */
static void run_figure(const struct figure* figure, const char* file, int pipe) {
  options.operations = figure->operations;
  options.bytes = figure->bytes;
  options.lines = figure->lines > 0 ? figure->lines : 1;
  options.threads = figure->threads;
  options.huge = figure->huge;
  options.file = figure->persistent ? file : NULL;
  choose_benchmark(figure->loop);
  pin(0);
  set_up();
  if (figure->huge && !huge_pages_given(figure->bytes)) _exit(NO_HUGE_PAGES);
  for (int i = 0; i <= REPETITIONS; ++i) {
    const uint64_t begin = now_ns();
    repeat();
    const double ns = (double)(now_ns() - begin) / (double)figure->operations;
    if (i > 0 && write(pipe, &ns, sizeof ns) != sizeof ns) _exit(2);
  }
  _exit(0);
}

/* Reads the times of a process. Returns how many arrived in time. */
static int read_times(struct figure* figure, int pipe) {
  int count = 0;
  struct pollfd readable = {.fd = pipe, .events = POLLIN};
  while (count < REPETITIONS && poll(&readable, 1, TIMEOUT_MS) > 0) {
    if (read(pipe, &figure->times[figure->count], sizeof(double)) != sizeof(double)) break;
    ++count;
    ++figure->count;
  }
  return count;
}

static void say_missing(struct figure* figure, const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(figure->missing, sizeof figure->missing, format, values);
  va_end(values);
}

static void measure_round(struct figure* figure, const char* file) {
  int ends[2];
  if (pipe(ends) != 0) fail("pipe");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(ends[0]);
    run_figure(figure, file, ends[1]);
  }
  close(ends[1]);
  const int count = read_times(figure, ends[0]);
  close(ends[0]);
  int status = 0;
  const int ended = count == REPETITIONS || waitpid(child, &status, WNOHANG) == child;
  if (!ended) kill(child, SIGKILL);
  if (count == REPETITIONS || !ended) waitpid(child, &status, 0);
  if (count == REPETITIONS) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_HUGE_PAGES) {
    say_missing(figure, "the system gives no huge pages");
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    say_missing(figure, "took longer than %d s; the machine may be busy", TIMEOUT_MS / 1000);
  } else {
    say_missing(figure, "its process failed (status %d)", status);
  }
}

static int in_order(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

/* The value below which a share of the sorted times lies. */
static double quantile(const double* times, int count, double share) {
  const double place = share * (count - 1);
  const int below = (int)place;
  if (below + 1 == count) return times[below];
  return times[below] + (place - below) * (times[below + 1] - times[below]);
}

/* From the lower to the upper quartile, over the median; sorts the times. */
static double spread_of(double* times, int count) {
  qsort(times, (size_t)count, sizeof(double), in_order);
  return (quantile(times, count, 0.75) - quantile(times, count, 0.25)) /
         quantile(times, count, 0.5);
}

static int faster(const void* a, const void* b) {
  const double* const rounds_of[] = {a, b};
  double medians[2];
  for (int i = 0; i < 2; ++i) {
    double sorted[REPETITIONS];
    memcpy(sorted, rounds_of[i], sizeof sorted);
    qsort(sorted, REPETITIONS, sizeof(double), in_order);
    medians[i] = quantile(sorted, REPETITIONS, 0.5);
  }
  return in_order(&medians[0], &medians[1]);
}

/* Puts the fastest rounds first. */
static void order_rounds(struct figure* figure) {
  qsort(figure->times, (size_t)(figure->count / REPETITIONS), REPETITIONS * sizeof(double), faster);
}

/* ---- The file of measurements --------------------------------------------------------------- */

static void print_processor(void) {
  printf("{\n \"processor\": {\n  \"model\": \"%s\",\n  \"cpus\": %d,\n", processor.model,
         processor.cpus);
  if (processor.node >= 0) printf("  \"numa_node\": %d,\n", processor.node);
  const char* const keys[] = {"cache_bytes", "cache_ways"};
  for (int kind = 0; kind < 2; ++kind) {
    const uint64_t* values = kind == 0 ? processor.cache_bytes : processor.cache_ways;
    printf("  \"%s\": {", keys[kind]);
    const char* separator = "";
    for (int level = 1; level < LEVELS; ++level) {
      if (values[level] == 0) continue;
      printf("%s\"%d\": %llu", separator, level, (unsigned long long)values[level]);
      separator = ", ";
    }
    printf("},\n");
  }
  printf("  \"flags\": [");
  const char* separator = "";
  for (char* word = strtok(processor.flags, " "); word != NULL; word = strtok(NULL, " ")) {
    printf("%s\"%s\"", separator, word);
    separator = ", ";
  }
  printf("]\n },\n");
}

static void print_options(const struct figure* figure) {
  const char* separator = "";
  printf("\"options\": [");
  if (figure->bytes > 0) {
    printf("\"bytes=%llu\"", (unsigned long long)figure->bytes);
    separator = ", ";
  }
  if (figure->lines > 0) {
    printf("%s\"lines=%llu\"", separator, (unsigned long long)figure->lines);
    separator = ", ";
  }
  if (figure->threads > 1) {
    printf("%s\"threads=%u\"", separator, figure->threads);
    separator = ", ";
  }
  if (figure->huge) printf("%s\"huge\"", separator);
  printf("]");
}

static void print_figure(struct figure* figure, const char* separator) {
  const int count = rounds * REPETITIONS;
  order_rounds(figure);
  const double spread = spread_of(figure->times, count);
  printf("%s\n  {\"name\": \"%s\", \"loop\": \"%s\", ", separator, figure->name, figure->loop);
  print_options(figure);
  printf(", \"threads\": %u,\n   \"median_ns\": %.9g, \"least_ns\": %.9g, \"most_ns\": %.9g, ",
         figure->threads, quantile(figure->times, count, 0.5), figure->times[0],
         figure->times[count - 1]);
  printf("\"spread\": %.4f}", spread);
}

static void print_measurements(const char* file) {
  char date[32];
  const time_t now = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
  print_processor();
  printf(" \"measured\": \"%s, persistent memory is %s\",\n \"measurements\": [", date,
         file != NULL ? "a file on a DAX mount" : "DRAM");
  const char* separator = "";
  for (int i = 0; i < figures_count; ++i) {
    if (figures[i].missing[0] != '\0') continue;
    print_figure(&figures[i], separator);
    separator = ",";
  }
  printf("\n ],\n \"not_measured\": {");
  separator = "";
  for (int i = 0; i < figures_count; ++i) {
    if (figures[i].missing[0] == '\0') continue;
    printf("%s\n  \"%s\": \"%s\"", separator, figures[i].name, figures[i].missing);
    separator = ",";
  }
  printf("\n }\n}\n");
}

static void measure_or_say_why_not(struct figure* figure, const char* file) {
  if (figure->needs != NULL && !has_flag(figure->needs)) {
    say_missing(figure, "the processor does not support %s", figure->needs);
  } else if (figure->threads > (unsigned)processor.cpus) {
    say_missing(figure, "requires %u processors", figure->threads);
  } else {
    measure_round(figure, file);
  }
}

static int read_arguments(int count, char** arguments) {
  for (int i = 0; i < count; ++i) {
    if (strncmp(arguments[i], "only=", 5) == 0) {
      only = arguments[i] + 5;
    } else if (strncmp(arguments[i], "rounds=", 7) == 0) {
      rounds = atoi(arguments[i] + 7);
    } else if (strncmp(arguments[i], "file=", 5) == 0) {
      options.file = arguments[i] + 5;
    } else {
      fprintf(stderr, "%s: unknown; choose file=PATH, rounds=N or only=TEXT\n", arguments[i]);
      return 0;
    }
  }
  if (rounds >= 1 && rounds <= MOST_ROUNDS) return 1;
  fprintf(stderr, "rounds=%d: choose 1 to %d\n", rounds, MOST_ROUNDS);
  return 0;
}

/* True if even the fastest rounds vary too much. */
static int varies(struct figure* figure) {
  double kept[TIMES];
  const int count = rounds * REPETITIONS;
  if (figure->missing[0] != '\0') return 0;
  order_rounds(figure);
  memcpy(kept, figure->times, (size_t)count * sizeof(double));
  return spread_of(kept, count) > USABLE_SPREAD;
}

/* Measures figures that vary again and again, and keeps their fastest rounds. */
static void repeat_varying(const char* file) {
  const int before = rounds * figures_count;
  int varying = 0;
  for (int i = 0; i < figures_count; ++i) varying += varies(&figures[i]);
  for (int round = 0; round < ROUNDS_MORE; ++round) {
    int done = before + round * varying;
    for (int i = 0; i < figures_count; ++i) {
      if (!varies(&figures[i])) continue;
      fprintf(stderr, "%d %d %s\n", done++, before + ROUNDS_MORE * varying, figures[i].name);
      measure_round(&figures[i], file);
    }
  }
}

static int measure_all(int count, char** arguments) {
  if (!read_arguments(count, arguments)) return 2;
  const char* const file = options.file;
  describe_processor();
  list_figures(file);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < figures_count; ++i) {
      if (figures[i].missing[0] != '\0') continue;
      fprintf(stderr, "%d %d %s\n", round * figures_count + i, rounds * figures_count,
              figures[i].name);
      measure_or_say_why_not(&figures[i], file);
    }
  }
  repeat_varying(file);
  print_measurements(file);
  return fflush(stdout) == 0 ? 0 : 2;
}

#endif
