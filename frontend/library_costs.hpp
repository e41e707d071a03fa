// The instructions that functions of the C and C++ libraries execute, as measured once
// (benchmarks/library_costs.py). The recorder estimates calls of code without instrumentation by
// this table, so that a recording depends on no machine and no version of a library.
//
//   instructions = constant + per_unit * units
//
// A function's units are a number that its arguments and its result give after the call.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace pmemsim {

// `argument` is the first of the arguments that are named below.
enum class Units : std::uint8_t {
  kNone,
  kArgument,       // the argument
  kProduct,        // the product of the argument and the next
  kString,         // the length of the argument
  kResult,         // the result
  kResultString,   // the length of the result
  kFound,          // bytes from the argument to the result, or the number in the next but one
  kFoundInString,  // bytes from the argument to the result, or to the string's end
  kCommonBytes,    // the common prefix of two memories; the third argument is their length
  kCommonString,   // the common prefix of two strings, at most the third argument
  kFormat,         // the printed characters; the format's conversions add a row each
  kConversions,    // the conversions in the format
  kCallbacks,      // calls of the program's function, added where they happen
};

// True if the first argument or, for strings that are returned, the result is a pointer.
constexpr bool reads_memory(Units units) {
  return units != Units::kNone && units != Units::kArgument && units != Units::kProduct &&
         units != Units::kResult && units != Units::kCallbacks;
}

struct LibraryCost {
  std::string_view name;
  Units units;
  std::uint8_t argument;
  std::uint32_t constant;
  float per_unit;
};

inline constexpr LibraryCost kLibraryCosts[] = {
#include "library_costs.inc"
};

// The cost of a function that isn't in the table: the median constant of all that are.
inline constexpr std::uint32_t kUnknownFunctionCost = [] {
  std::array<std::uint32_t, std::size(kLibraryCosts)> constants{};
  std::ranges::transform(kLibraryCosts, constants.begin(), &LibraryCost::constant);
  std::ranges::sort(constants);
  return constants[constants.size() / 2];
}();

// Members of std::string share a row, whose name is the beginning of theirs.
inline constexpr std::string_view kStringMember = "_ZNSt7__cxx1112basic_string";
inline constexpr std::string_view kConstantStringMember = "_ZNKSt7__cxx1112basic_string";

// Returns the function's row, or nullptr.
constexpr const LibraryCost* library_cost(std::string_view name) {
  if (name.starts_with(kConstantStringMember) || name.starts_with(kStringMember)) {
    name = kStringMember;
  }
  const auto* row = std::lower_bound(
      std::begin(kLibraryCosts), std::end(kLibraryCosts), name,
      [](const LibraryCost& cost, std::string_view wanted) { return cost.name < wanted; });
  return row != std::end(kLibraryCosts) && row->name == name ? row : nullptr;
}

// Returns a positive number of instructions as a whole number. (The runtime can't use <cmath>,
// since a C program need not be linked with libm.)
constexpr std::uint64_t rounded(double instructions) {
  const auto whole = static_cast<std::uint64_t>(instructions);
  return whole + (instructions - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

}  // namespace pmemsim
