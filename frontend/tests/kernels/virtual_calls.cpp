// Objects with virtual functions that call each other.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

struct Node {
  virtual ~Node() = default;
  virtual std::uint64_t value(std::uint64_t x) const = 0;
};

struct Constant final : Node {
  explicit Constant(std::uint64_t number) : number(number) {}
  std::uint64_t value(std::uint64_t) const override { return number; }
  std::uint64_t number;
};

struct Variable final : Node {
  std::uint64_t value(std::uint64_t x) const override { return x; }
};

struct Pair : Node {
  Pair(std::unique_ptr<Node> a, std::unique_ptr<Node> b) : a(std::move(a)), b(std::move(b)) {}
  std::unique_ptr<Node> a, b;
};

struct Sum final : Pair {
  using Pair::Pair;
  std::uint64_t value(std::uint64_t x) const override { return a->value(x) + b->value(x); }
};

struct Product final : Pair {
  using Pair::Pair;
  std::uint64_t value(std::uint64_t x) const override { return a->value(x) * b->value(x); }
};

struct Larger final : Pair {
  using Pair::Pair;
  std::uint64_t value(std::uint64_t x) const override {
    const std::uint64_t left = a->value(x), right = b->value(x);
    return left > right ? left : right;
  }
};

std::unique_ptr<Node> make(int depth, unsigned& random) {
  random = random * 1103515245u + 12345u;
  const unsigned kind = random >> 16;
  if (depth == 0) {
    if (kind % 2 == 0) return std::make_unique<Variable>();
    return std::make_unique<Constant>(kind % 7);
  }
  std::unique_ptr<Node> a = make(depth - 1, random), b = make(depth - 1, random);
  switch (kind % 3) {
    case 0:
      return std::make_unique<Sum>(std::move(a), std::move(b));
    case 1:
      return std::make_unique<Product>(std::move(a), std::move(b));
    default:
      return std::make_unique<Larger>(std::move(a), std::move(b));
  }
}

}  // namespace

int main() {
  unsigned random = 7;
  std::vector<std::unique_ptr<Node>> trees;
  for (int i = 0; i < 4; ++i) trees.push_back(make(7, random));
  std::uint64_t sum = 0;
  for (std::uint64_t x = 0; x < 40; ++x) {
    for (const auto& tree : trees) sum ^= tree->value(x);
  }
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
