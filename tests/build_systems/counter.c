// A counter in a file of persistent memory: the program of every project in this folder. The test
// copies this file beside the build files, so that all build systems compile the same source.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 4096, kIncrements = 8 };

int main(int argc, char** argv) {
  const int file = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, kBytes) != 0) return 1;
  uint64_t* counter = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counter == MAP_FAILED) return 1;
  for (int i = 0; i < kIncrements; ++i) {
    *counter += 1;         // the store
    _mm_clflush(counter);  // the flush
    _mm_sfence();          // the fence
  }
  return 0;
}
