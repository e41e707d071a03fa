#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>
struct Shape {
  virtual ~Shape() {}
  virtual int area(int) const = 0;
};
struct Sq : Shape {
  int a;
  Sq(int x) : a(x) {}
  int area(int k) const override { return a * a + k; }
};
struct Re : Shape {
  int a, b;
  Re(int x, int y) : a(x), b(y) {}
  int area(int k) const override {
    if (k == 77) throw std::runtime_error("x");
    return a * b - k;
  }
};
int main() {
  std::map<int, int> m;
  std::unordered_map<int, int> u;
  std::vector<int> v;
  unsigned x = 12345;
  auto rnd = [&] {
    x = x * 1103515245u + 12345u;
    return (x >> 8) & 0xffff;
  };
  for (int i = 0; i < 3000; i++) {
    m[rnd()] += i;
    u[rnd()] ^= i;
    v.push_back(rnd());
  }
  std::sort(v.begin(), v.end());
  long s = 0;
  for (auto& p : m) s += p.first * p.second;
  for (auto& p : u) s += p.second;
  std::vector<Shape*> sh;
  for (int i = 0; i < 100; i++)
    if (i & 1)
      sh.push_back(new Sq(i));
    else
      sh.push_back(new Re(i, 3));
  for (int r = 0; r < 100; r++)
    for (auto p : sh) {
      try {
        s += p->area(r);
      } catch (std::exception& e) {
        s += e.what()[0];
      }
    }
  for (auto p : sh) delete p;
  std::string str;
  for (int i = 0; i < 2000; i++) str += char('a' + rnd() % 26);
  s += std::count(str.begin(), str.end(), 'e');
  volatile long sink = s + v[5];
  (void)sink;
}
