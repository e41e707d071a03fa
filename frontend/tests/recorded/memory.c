// Writes 42 to persistent memory of several origins: memory path FILE | range | heap. With
// unmapped FILE the file is unmapped before the write, and other memory is mapped at its address if
// possible. With short FILE the file is shorter than its mapping.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (1 << 16)

// The runtime's interface, as pmemsim/pm.h uses it.
void pmemsim_rt_mark(uint32_t mark, uint64_t first, uint64_t second);
enum { ROI_BEGIN = 0, ROI_END = 1 };

static uint64_t* map_file(const char* path, off_t length) {
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, length) != 0) exit(1);
  void* memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

// All zero, from the operating system, at any place.
static void* map_volatile(void) {
  return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void* write_in_thread(void* memory) {
  for (int i = 0; i < 100; ++i) ((uint64_t*)memory)[8 + i] = 43;
  return NULL;
}

int main(int count, char** arguments) {
  uint64_t* memory = NULL;
  if (count > 2 && strcmp(arguments[1], "path") == 0) memory = map_file(arguments[2], BYTES);
  if (count > 2 && strcmp(arguments[1], "short") == 0) memory = map_file(arguments[2], 2 * 4096);
  if (count > 2 && strcmp(arguments[1], "unmapped") == 0) {
    uint64_t* file = map_file(arguments[2], BYTES);
    if (file == NULL || munmap(file, BYTES) != 0) return 1;
    memory = map_volatile();
    if (mmap(file, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != file) return 1;
  }
  if (strcmp(arguments[1], "range") == 0) {
    memory = mmap((void*)0x10000000000, BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  if (strcmp(arguments[1], "heap") == 0) memory = calloc(1, BYTES);
  if (memory == NULL || memory == MAP_FAILED) return 1;
  memory[512] = 99;  // before the region of interest, if there is one
  pmemsim_rt_mark(ROI_BEGIN, 0, 0);
  memory[0] = 42;
  pthread_t thread;
  pthread_create(&thread, NULL, write_in_thread, memory);
  pthread_join(thread, NULL);
  pmemsim_rt_mark(ROI_END, 0, 0);
  memory[1] = 1000;
  return 0;
}
