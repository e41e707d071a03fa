// Functions that throw and catch, with destructors on the way.
#include <cstdint>
#include <cstdio>

namespace {

std::uint64_t released = 0;

struct Guard {
  explicit Guard(std::uint64_t id) : id(id) {}
  ~Guard() { released = released * 3 + id; }
  std::uint64_t id;
};

struct TooLarge {
  std::uint64_t number;
};

__attribute__((noinline)) std::uint64_t collatz(std::uint64_t x, unsigned steps) {
  const Guard guard(steps);
  std::uint64_t length = 0;
  for (; x != 1; ++length) {
    x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    if (x > 9000) throw TooLarge{x};
    if (length > 100) throw static_cast<int>(steps);
  }
  return length;
}

__attribute__((noinline)) std::uint64_t nested(std::uint64_t x, unsigned depth) {
  const Guard guard(depth);
  if (depth == 0) return collatz(x, 5);
  try {
    return nested(x, depth - 1) + 1;
  } catch (int steps) {
    return static_cast<std::uint64_t>(steps) + depth;
  }
}

}  // namespace

int main() {
  std::uint64_t sum = 0;
  for (std::uint64_t x = 1; x < 700; ++x) {
    try {
      sum += nested(x, 3);
    } catch (const TooLarge& too_large) {
      sum ^= too_large.number;
    }
  }
  std::printf("%llu %llu\n", static_cast<unsigned long long>(sum),
              static_cast<unsigned long long>(released));
}
