// Estimates the instructions of code without instrumentation by a table (library_costs.hpp).
//
// 1. Functions outside recorded objects are not instrumented.
// 2. A function in a recorded object may be one of a library that was linked statically. If nothing
//    is recorded during a call, the function counts as not instrumented.
// 3. A function that isn't in the table counts with a constant, as an unknown one.
// 4. The functions that the runtime itself replaces (locks, threads), and OpenMP's library, are
//    recorded at their interface. They count only if they are in the table.
#include "external.hpp"

#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "exported.hpp"
#include "library_costs.hpp"
#include "pmemsim_rt.h"
#include "record.hpp"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"

// Begin and end of the functions that instrumented code calls in the runtime (exported.hpp).
extern "C" const char __start_pmemsim_rt[], __stop_pmemsim_rt[];

namespace pmemsim::rt {

List<UnknownFunction, kMaxUnknownFunctions> unknown_functions;

namespace {

constexpr std::uint64_t kNotRecording = ~std::uint64_t{0};
constexpr std::uint64_t kNoValue = ~std::uint64_t{0};  // an argument or result that is missing
// A larger estimate comes from an argument or a result that the function can't have. The constant
// of the function's cost then counts alone.
constexpr double kMostInstructions = 1e9;

enum class Callee : std::uint8_t { kNotSeen, kRecorded, kPerhapsRecorded, kExternal };

// The callee of a direct call, which is always the same.
struct Called {
  Callee callee;
  std::uint32_t unknown;  // its index in unknown_functions, from 1
  const char* name;
  const LibraryCost* cost;  // nullptr: unknown
};
Map<Called> called_at;  // key: site

bool is_own(const void* function) {
  return function >= __start_pmemsim_rt && function < __stop_pmemsim_rt;
}

bool is_openmp(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  for (const char* known : {"libgomp", "libomp", "libiomp"}) {
    if (std::strncmp(name, known, std::strlen(known)) == 0) return true;
  }
  return false;
}

Callee kind_of(const void* function, bool has_cost) {
  if (function == nullptr) return Callee::kExternal;  // the compiler's own library
  if (is_own(function)) return has_cost ? Callee::kExternal : Callee::kRecorded;
  dl_find_object object{};
  if (is_recorded_code(function) || _dl_find_object(const_cast<void*>(function), &object) != 0) {
    return Callee::kPerhapsRecorded;
  }
  if (!has_cost && is_openmp(object.dlfo_link_map->l_name)) return Callee::kRecorded;
  return Callee::kExternal;
}

std::uint32_t number_of_unknown(const char* name) {
  for (std::uint32_t i = 0; i < unknown_functions.size(); ++i) {
    if (std::strcmp(unknown_functions[i].name, name) == 0) return i + 1;
  }
  if (unknown_functions.size() < kMaxUnknownFunctions) {
    // A copy, since the caller's library may be unloaded.
    const std::size_t bytes = std::strlen(name) + 1;
    unknown_functions.push(
        {static_cast<const char*>(std::memcpy(allocate(bytes), name, bytes)), 0});
  }
  return static_cast<std::uint32_t>(unknown_functions.size());
}

void put_unknown(Called& called) {
  if (called.unknown == 0) called.unknown = number_of_unknown(called.name);
  ++unknown_functions[called.unknown - 1].calls;
  put_external(kUnknownFunctionCost, true);
}

// ---- Estimates ---------------------------------------------------------------------------------

struct Values {
  std::uint64_t first, second, third, result;
};

const char* pointer(std::uint64_t value) { return reinterpret_cast<const char*>(value); }

std::uint64_t common_bytes(const char* left, const char* right, std::uint64_t limit, bool strings) {
  std::uint64_t same = 0;
  while (same < limit && left[same] == right[same] && !(strings && left[same] == '\0')) ++same;
  return same;
}

// Returns the table's name for a conversion such as %-8.3lf; nullptr: the text ends.
const char* conversion_at(const char*& format) {
  format += std::strspn(format, "0123456789*.$'#+- lhzjtLqI");
  const char kind = *format;
  if (kind == '\0') return nullptr;
  ++format;
  switch (kind) {
    case 'x':
    case 'X':
    case 'o':
      return "%x";
    case 'e':
    case 'E':
      return "%e";
    case 'f':
    case 'F':
      return "%f";
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return "%g";
    case 'c':
      return "%c";
    case 's':
      return "%s";
    case 'p':
      return "%p";
    default:
      return kind == '%' ? "" : "%d";
  }
}

// Returns how many conversions the format has, and adds their instructions.
std::uint64_t conversions(const char* format, double& instructions) {
  std::uint64_t count = 0;
  while ((format = std::strchr(format, '%')) != nullptr) {
    const char* name = conversion_at(++format);
    if (name == nullptr) break;
    const LibraryCost* cost = library_cost(name);
    if (cost == nullptr) continue;  // %%
    ++count;
    instructions += cost->constant;
  }
  return count;
}

std::uint64_t units_of(Units units, const Values& values) {
  const std::uint64_t found = values.result - values.first;
  switch (units) {
    case Units::kArgument:
      return values.first;
    case Units::kProduct:
      return values.first * values.second;
    case Units::kString:
      return std::strlen(pointer(values.first));
    case Units::kResult:
    case Units::kFormat:
      return static_cast<std::int64_t>(values.result) > 0 ? values.result : 0;
    case Units::kResultString:
      return values.result != 0 ? std::strlen(pointer(values.result)) : 0;
    case Units::kFound:
      return values.result != 0 ? found : values.third;
    case Units::kFoundInString:
      return values.result != 0 ? found : std::strlen(pointer(values.first));
    case Units::kCommonBytes:
    case Units::kCommonString:
      return common_bytes(pointer(values.first), pointer(values.second), values.third,
                          units == Units::kCommonString);
    case Units::kConversions: {
      double ignored = 0;
      return conversions(pointer(values.first), ignored);
    }
    case Units::kNone:
    case Units::kCallbacks:
      break;
  }
  return 0;
}

std::uint64_t estimate(const LibraryCost& cost, const Values& values) {
  const std::uint64_t where = cost.units == Units::kResultString ? values.result : values.first;
  if (reads_memory(cost.units) && where == kNoValue) return cost.constant;
  double instructions = cost.constant;
  if (cost.units == Units::kFormat) conversions(pointer(values.first), instructions);
  instructions +=
      static_cast<double>(cost.per_unit) * static_cast<double>(units_of(cost.units, values));
  if (instructions > kMostInstructions) instructions = cost.constant;
  return rounded(instructions);
}

}  // namespace

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT std::uint64_t pmemsim_rt_external_before(std::uint32_t site, const char* name,
                                                        const void* function) {
  pmemsim_rt_execute(site);
  if (!recording() || !active()) return kNotRecording;
  Called& called = called_at[site];
  if (called.callee == Callee::kNotSeen) {
    called.name = name;
    called.cost = pmemsim::library_cost(name);
    called.callee = kind_of(function, called.cost != nullptr);
  }
  return recorded_operations(*self);
}

PMEMSIM_EXPORT void pmemsim_rt_external_after(std::uint32_t site, std::uint64_t before,
                                              std::uint64_t first, std::uint64_t second,
                                              std::uint64_t third, std::uint64_t result) {
  if (before == kNotRecording || !recording() || !active()) return;
  Called& called = called_at[site];
  if (called.callee == Callee::kRecorded) return;
  if (called.callee == Callee::kPerhapsRecorded && recorded_operations(*self) != before) return;
  if (called.cost == nullptr) return put_unknown(called);
  put_external(estimate(*called.cost, {first, second, third, result}));
}
