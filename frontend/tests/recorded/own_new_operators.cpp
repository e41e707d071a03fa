// Operators of the program's own, which put something before what they give, and count. Those of
// arrays and with sizes are to use them, as the C++ library's do: what is given is taken back.
#include <cstdlib>
#include <new>

extern "C" const bool has_own_operators = true;

constexpr std::size_t kBefore = 16;
static long given = 0;
static struct AtTheEnd {
  ~AtTheEnd() {
    if (given != 0) std::abort();
  }
} at_the_end;

void* operator new(std::size_t bytes) {
  ++given;
  if (void* memory = std::malloc(kBefore + bytes)) return static_cast<char*>(memory) + kBefore;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  --given;
  std::free(static_cast<char*>(memory) - kBefore);
}
