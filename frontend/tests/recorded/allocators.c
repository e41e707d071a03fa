// Every function of the C library that allocates, one line each: what it gave, in hexadecimal.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char* name, void* memory) {
  *(volatile char*)memory = 1;
  printf("%s %lx\n", name, (unsigned long)(uintptr_t)memory);
  free(memory);
}

int main(void) {
  void* aligned = NULL;
  char* printed = NULL;
  if (posix_memalign(&aligned, 4096, 100) != 0 || asprintf(&printed, "%d", 5) < 0) return 1;
  show("posix_memalign", aligned);
  show("asprintf", printed);
  show("malloc", malloc(10));
  show("calloc", calloc(3, 5));
  show("realloc", realloc(malloc(8), 100000));
  show("reallocarray", reallocarray(NULL, 4, 8));
  show("aligned_alloc", aligned_alloc(64, 128));
  show("memalign", memalign(256, 8));
  show("valloc", valloc(8));
  show("pvalloc", pvalloc(8));
  show("strdup", strdup("hello"));
  show("strndup", strndup("hello", 3));
  return 0;
}
