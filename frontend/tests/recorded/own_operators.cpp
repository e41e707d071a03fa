// Operators of the program's own, as some count what they give.
#include <cstdlib>
#include <new>

static std::size_t given = 0;

void* operator new(std::size_t bytes) {
  given += bytes;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t bytes) noexcept {
  given -= bytes;
  std::free(memory);
}
