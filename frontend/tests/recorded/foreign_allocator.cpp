// An allocator as libraries bring them: malloc's family and all operators, none of which calls
// another of the program's. It can't free what isn't its own. Compiled with instrumentation, and
// without.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

alignas(4096) char arena[1 << 24];
std::size_t used = 4096;

void* take(std::size_t bytes, std::size_t alignment) {
  used = (used + 16 + alignment - 1) / alignment * alignment;
  char* memory = arena + used;
  reinterpret_cast<std::size_t*>(memory)[-1] = bytes;
  used += bytes;
  return memory;
}
void give_back(void* memory) {
  if (memory != nullptr && (memory < arena || memory >= arena + used)) std::abort();
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) { return take(bytes, 16); }
void free(void* memory) { give_back(memory); }
void* calloc(std::size_t count, std::size_t bytes) { return take(count * bytes, 16); }
void* realloc(void* memory, std::size_t bytes) {
  give_back(memory);
  void* moved = take(bytes, 16);
  if (memory == nullptr) return moved;
  const std::size_t before = static_cast<std::size_t*>(memory)[-1];
  return std::memcpy(moved, memory, bytes < before ? bytes : before);
}
void* reallocarray(void* memory, std::size_t count, std::size_t bytes) {
  return realloc(memory, count * bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = take(bytes, alignment);
  return 0;
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return take(bytes, alignment); }
void* memalign(std::size_t alignment, std::size_t bytes) { return take(bytes, alignment); }
std::size_t malloc_usable_size(void* memory) { return static_cast<std::size_t*>(memory)[-1]; }
}

using Size = std::size_t;
using Alignment = std::align_val_t;
using NoThrow = const std::nothrow_t&;
void* operator new(Size bytes) { return take(bytes, 16); }
void* operator new[](Size bytes) { return take(bytes, 16); }
void* operator new(Size bytes, NoThrow) noexcept { return take(bytes, 16); }
void* operator new[](Size bytes, NoThrow) noexcept { return take(bytes, 16); }
void* operator new(Size bytes, Alignment a) { return take(bytes, Size(a)); }
void* operator new[](Size bytes, Alignment a) { return take(bytes, Size(a)); }
void* operator new(Size bytes, Alignment a, NoThrow) noexcept { return take(bytes, Size(a)); }
void* operator new[](Size bytes, Alignment a, NoThrow) noexcept { return take(bytes, Size(a)); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, Size) noexcept { give_back(memory); }
void operator delete[](void* memory, Size) noexcept { give_back(memory); }
void operator delete(void* memory, NoThrow) noexcept { give_back(memory); }
void operator delete[](void* memory, NoThrow) noexcept { give_back(memory); }
void operator delete(void* memory, Alignment) noexcept { give_back(memory); }
void operator delete[](void* memory, Alignment) noexcept { give_back(memory); }
void operator delete(void* memory, Size, Alignment) noexcept { give_back(memory); }
void operator delete[](void* memory, Size, Alignment) noexcept { give_back(memory); }
void operator delete(void* memory, Alignment, NoThrow) noexcept { give_back(memory); }
void operator delete[](void* memory, Alignment, NoThrow) noexcept { give_back(memory); }
