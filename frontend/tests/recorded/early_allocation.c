// A library that the dynamic linker initializes before everything else (-z initfirst), and that
// allocates then.
#include <stdlib.h>

__attribute__((constructor)) static void allocate(void) {
  char* volatile memory = malloc(1);
  free(memory);
}
