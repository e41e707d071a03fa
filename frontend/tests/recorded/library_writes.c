// Persistent memory that code without instrumentation writes: library_writes FILE. Writes what the
// memory holds in the end to FILE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 4096

static void move_bytes(void* to, const void* from, size_t count) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
}

static void fill_words(void* to, long word, size_t count) {
  __asm__ volatile("cld; rep; stosq" : "+D"(to), "+c"(count) : "a"(word) : "memory");
}

int main(int count, char** arguments) {
  if (count != 2) return 1;
  char* memory = mmap((void*)0x10000000000, BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || write(file, "a line of text\nand another one\n", 31) != 31) return 1;

  if (pread(file, memory, 20, 3) != 20) return 1;
  if (lseek(file, 0, SEEK_SET) != 0 || read(file, memory + 64, 100) != 31) return 1;
  if (read(file, memory + 64, 100) != 0) return 1;  // the end of the file: writes nothing
  FILE* stream = fopen(arguments[1], "r");
  if (stream == NULL || fread(memory + 128, 2, 5, stream) != 5) return 1;
  if (fgets(memory + 192, 40, stream) == NULL) return 1;
  while (fgets(memory + 192, 40, stream) != NULL) continue;  // the last call writes nothing
  fclose(stream);
  snprintf(memory + 256, 10, "%s", arguments[1]);
  sprintf(memory + 320, "%s", "whole");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || write(ends[0], "hello", 5) != 5) return 1;
  if (recv(ends[1], memory + 384, 50, 0) != 5) return 1;
  move_bytes(memory + 448, "moved by the processor", 22);
  fill_words(memory + 512, 0x0102030405060708, 3);
  strcpy(memory + 576, "one ");
  strncat(memory + 576, "two three", 3);

  if (ftruncate(file, 0) != 0 || pwrite(file, memory, BYTES, 0) != BYTES) return 1;
  return close(file);
}
