// Uses of libpmem2, by name. The ones whose names begin with `no_` lack a step.
#include <fcntl.h>
#include <libpmem2.h>
#include <string.h>
#include <unistd.h>

static char source[2000];
static struct pmem2_map* map;
static char* pool;

static void persist(void) {
  pmem2_persist_fn make_durable = pmem2_get_persist_fn(map);
  pool[0] = 1;
  make_durable(pool, 1);
}
static void flush(void) {
  pool[0] = 1;
  pmem2_get_flush_fn(map)(pool, 1);
  pmem2_get_drain_fn(map)();
}
static void copies(void) {
  pmem2_get_memcpy_fn(map)(pool + 3, source, 1000, 0);
  pmem2_get_memmove_fn(map)(pool + 2003, source, 100, PMEM2_F_MEM_NODRAIN);
  pmem2_get_memset_fn(map)(pool + 3003, 7, 1000, PMEM2_F_MEM_NODRAIN);
  pmem2_get_drain_fn(map)();
}
static void deep_flush(void) {
  pool[0] = 1;
  pmem2_deep_flush(map, pool, 1);
}

static void no_drain(void) {
  pool[0] = 1;
  pmem2_get_flush_fn(map)(pool, 1);  // flushed-not-fenced
}
static void no_drain_of_big_copy(void) {
  pmem2_memcpy_fn copy = pmem2_get_memcpy_fn(map);
  copy(pool, source, 1000, PMEM2_F_MEM_NODRAIN);  // nt-not-fenced flushed-not-fenced
}
static void no_drain_of_small_set(void) {
  pmem2_get_memset_fn(map)(pool, 7, 100, PMEM2_F_MEM_NODRAIN);  // flushed-not-fenced
}
static void no_flush_of_move(void) {
  pmem2_get_memmove_fn(map)(pool, source, 1000, PMEM2_F_MEM_NOFLUSH);  // never-flushed
}

#define USE(name) {#name, name}
static const struct use {
  const char* name;
  void (*function)(void);
} uses[] = {
    USE(persist),
    USE(flush),
    USE(copies),
    USE(deep_flush),
    USE(no_drain),
    USE(no_drain_of_big_copy),
    USE(no_drain_of_small_set),
    USE(no_flush_of_move),
};

int main(int count, char** words) {
  struct pmem2_config* config;
  struct pmem2_source* file_source;
  int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 1 << 20) || pmem2_config_new(&config) ||
      pmem2_source_from_fd(&file_source, file) ||
      pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_PAGE) ||
      pmem2_map_new(&map, config, file_source)) {
    return 1;
  }
  pool = pmem2_map_get_address(map);
  for (unsigned i = 0; i < sizeof uses / sizeof uses[0]; ++i) {
    if (!strcmp(uses[i].name, words[1])) uses[i].function();
  }
  return 0;
}
