// Containers, strings, streams and exceptions of the C++ library.
#include <pmemsim/pm.h>

#include <list>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>

static void may_throw(int i) {
  if (i % 50 == 0) throw std::runtime_error("a reason");
}

int main() {
  unsigned x = 7;
  long sum = 0;
  pm_roi_begin();
  std::map<int, std::string> names;
  std::unordered_map<std::string, int> numbers;
  std::set<int> all;
  std::list<int> recent;
  for (int i = 0; i < 3000; ++i) {
    x = x * 1103515245u + 12345u;
    const int key = static_cast<int>(x >> 8) % 2000;
    names[key] += "some text";
    all.insert(key);
    if (i % 3 == 0) names.erase(static_cast<int>(x >> 10) % 2000);
    numbers["the key " + std::to_string(key)] += i;
    recent.push_back(key);
    if (recent.size() > 100) recent.pop_front();
    if (i % 10 == 0) {
      std::ostringstream line;
      line << "key " << key << ' ' << i * 0.25;
      sum += static_cast<long>(line.str().size());
    }
    try {
      may_throw(i);
    } catch (const std::runtime_error& error) {
      sum += error.what()[0];
    }
  }
  for (const auto& [key, name] : names) sum += key + static_cast<long>(name.size());
  for (const int key : all) sum += key;
  pm_roi_end();
  return sum == 42;
}
