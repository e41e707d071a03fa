// Prints the result of every `operator new`, in hexadecimal, one a line. Each block is freed by an
// `operator delete` of the same kind, never by free(), and no `operator delete` frees malloc's
// memory. The exception is class Segment, which gets its memory from posix_memalign: the global
// `operator delete` frees it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

// own_new_operators.cpp defines it. Its address is null in a program without that file.
extern "C" __attribute__((weak)) const bool has_own_operators;

namespace {

constexpr std::size_t kBytes = 100;
constexpr auto kAlignment = std::align_val_t{256};

void show(const char* name, void* memory) {
  *static_cast<volatile char*>(memory) = 1;
  std::printf("%s %lx\n", name,
              static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(memory)));
}

struct Segment {
  long values[100];
  void* operator new(std::size_t bytes) {
    void* memory = nullptr;
    return posix_memalign(&memory, 64, bytes) == 0 ? memory : nullptr;
  }
};

bool refuses_too_much() {
  volatile std::size_t bytes = PTRDIFF_MAX;
  if (operator new(bytes, std::nothrow) != nullptr) return false;
  try {
    operator delete(operator new(bytes));
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

}  // namespace

int main(int count, char**) {
  void* memory = operator new(kBytes);
  show("new", memory);
  operator delete(memory);
  memory = operator new[](kBytes);
  show("new[]", memory);
  operator delete[](memory);
  memory = operator new(kBytes, std::nothrow);
  show("nothrow", memory);
  operator delete(memory, std::nothrow);
  memory = operator new[](kBytes, std::nothrow);
  show("nothrow[]", memory);
  operator delete[](memory, std::nothrow);
  memory = operator new(kBytes, kAlignment);
  show("aligned", memory);
  operator delete(memory, kAlignment);
  memory = operator new[](kBytes, kAlignment);
  show("aligned[]", memory);
  operator delete[](memory, kAlignment);
  memory = operator new(kBytes, kAlignment, std::nothrow);
  show("aligned_nothrow", memory);
  operator delete(memory, kAlignment, std::nothrow);
  memory = operator new[](kBytes, kAlignment, std::nothrow);
  show("aligned_nothrow[]", memory);
  operator delete[](memory, kAlignment, std::nothrow);
  operator delete(operator new(kBytes), kBytes);
  operator delete[](operator new[](kBytes), kBytes);
  operator delete(operator new(kBytes, kAlignment), kBytes, kAlignment);
  operator delete[](operator new[](kBytes, kAlignment), kBytes, kAlignment);
  if (&has_own_operators == nullptr) {
    auto* segment = new Segment;
    show("class", segment);
    delete segment;
  }
  memory = reallocarray(nullptr, 10, 10);
  show("reallocarray", memory);
  std::free(memory);
  std::string text(1000, 'x');
  show("string", text.data());
  std::vector<int> numbers(1000);
  show("vector", numbers.data());
  return count > 1 && !refuses_too_much() ? 1 : 0;
}
