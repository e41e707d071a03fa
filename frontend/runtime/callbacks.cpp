// Library functions that call the program's comparison function. The library's own instructions are
// estimated at each comparison, where they are executed, by the table's instructions per callback.
#include <cstdlib>

#include "exported.hpp"
#include "external.hpp"
#include "library_costs.hpp"
#include "real.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

using Compare = int (*)(const void*, const void*);

// The C library sorts larger elements (in bytes) by other code.
constexpr std::size_t kNarrowElement = 8;

constexpr std::uint64_t per_callback(const char* name) {
  return rounded(library_cost(name)->per_unit);
}
constexpr std::uint64_t kPerNarrow = per_callback("qsort");
constexpr std::uint64_t kPerWide = per_callback("qsort wide");
constexpr std::uint64_t kPerSearch = per_callback("bsearch");

struct Call {
  Compare compare;
  std::uint64_t instructions;
  const void* key;  // nullptr, unless it is a search
};

int called_back(const Call& call, const void* left, const void* right) {
  if (recording() && active()) put_external(call.instructions);
  return call.compare(left, right);
}
int compare_elements(const void* left, const void* right, void* call) {
  return called_back(*static_cast<const Call*>(call), left, right);
}
int compare_key(const void* search, const void* element) {
  const Call& call = *static_cast<const Call*>(search);
  return called_back(call, call.key, element);
}

}  // namespace
}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// Weak: a program may have functions of these names.
PMEMSIM_EXPORT __attribute__((weak)) void qsort(void* elements, std::size_t count,
                                                std::size_t bytes, Compare compare) {
  if (mode == Mode::kOff) return real.qsort(elements, count, bytes, compare);
  Call call{compare, bytes <= kNarrowElement ? kPerNarrow : kPerWide, nullptr};
  real.qsort_r(elements, count, bytes, &compare_elements, &call);
}
// The C library's header defines bsearch() inline, so that this definition has another name.
PMEMSIM_EXPORT __attribute__((weak)) void* pmemsim_rt_bsearch(const void* key, const void* elements,
                                                              std::size_t count, std::size_t bytes,
                                                              Compare compare) __asm__("bsearch");
PMEMSIM_EXPORT __attribute__((weak)) void* pmemsim_rt_bsearch(const void* key, const void* elements,
                                                              std::size_t count, std::size_t bytes,
                                                              Compare compare) {
  if (mode == Mode::kOff) return real.bsearch(key, elements, count, bytes, compare);
  const Call call{compare, kPerSearch, key};
  return real.bsearch(&call, elements, count, bytes, &compare_key);
}
