// Flushes of memory of every sort, and of what the program asks for at one address three times:
// flushes FILE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (1 << 16)
#define ASKED ((char*)0x10000000000)

static char data[64] = {1};

static void flush(char* memory, int times) {
  for (int i = 0; i < times; ++i) {
    memory[0] = (char)i;
    __builtin_ia32_clflush(memory);
  }
}
static char* map(char* wanted, int flags, int file) {
  char* memory = mmap(wanted, BYTES, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) exit(1);
  return memory;
}

int main(int count, char** arguments) {
  int file = count > 1 ? open(arguments[1], O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, BYTES) != 0) return 1;
  char stack[64];
  char* heap = malloc(64);
  flush(heap, 1);
  flush(stack, 2);
  flush(data, 3);
  flush(map(NULL, MAP_SHARED, file), 4);
  flush(map(NULL, MAP_SHARED | MAP_ANONYMOUS, -1), 7);
  flush(map(NULL, MAP_PRIVATE, file), 8);
  const int unnamed = memfd_create("memory", 0);
  if (unnamed < 0 || ftruncate(unnamed, BYTES) != 0) return 1;
  flush(map(NULL, MAP_SHARED, unnamed), 9);
  for (int i = 0; i < 3; ++i) {
    char* asked = map(ASKED, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    flush(asked, 5);
    if (i == 2) munmap(asked, BYTES);
  }
  flush(map(ASKED, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1) + 64, 6);
  free(heap);
  return 0;
}
