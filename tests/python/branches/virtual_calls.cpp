// Objects of four classes with a virtual function.
#include <cstdint>
#include <vector>

namespace {
struct Shape {
  virtual std::uint64_t next(std::uint64_t x) const = 0;

 protected:
  ~Shape() = default;
};
struct Add final : Shape {
  std::uint64_t next(std::uint64_t x) const override { return x + 1; }
};
struct Flip final : Shape {
  std::uint64_t next(std::uint64_t x) const override { return x ^ 5; }
};
struct Triple final : Shape {
  std::uint64_t next(std::uint64_t x) const override { return x * 3; }
};
struct Halve final : Shape {
  std::uint64_t next(std::uint64_t x) const override { return x >> 1; }
};
std::vector<const Shape*> shapes;
const Add add;
const Flip flip;
const Triple triple;
const Halve halve;
}  // namespace

extern "C" void set_up_object(std::uint64_t object, std::uint64_t class_number) {
  const Shape* const classes[] = {&add, &flip, &triple, &halve};
  if (object >= shapes.size()) shapes.resize(object + 1);
  shapes[object] = classes[class_number];
}

extern "C" std::uint64_t call_all(std::uint64_t objects, std::uint64_t calls) {
  std::uint64_t x = 1;
  for (std::uint64_t i = 0; i < calls; ++i) x = shapes[i % objects]->next(x);
  return x;
}
