// Amounts of the tests: how many random programs, crashes or settings a test tries.
//
// `make test` runs the usual amounts. `make test-long` runs the long amounts, where nothing is
// compiled with sanitizers, and the least amounts with sanitizers (preset `sanitize`). Sanitizers
// check the use of memory, which few programs show; they make a test several times slower.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace pmemsim {

#ifdef PMEMSIM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// True in the long form of the tests, which PMEMSIM_LONG_TESTS selects. Each shortened test has a
// comment on what it adds.
inline bool long_tests() {
  const char* asked = std::getenv("PMEMSIM_LONG_TESTS");
  return asked != nullptr && *asked != '\0';
}

template <class Number>
Number amount(Number with_sanitizers, Number usually, Number in_long_form) {
  if (long_tests()) return in_long_form;
  return kSanitized ? with_sanitizers : usually;
}

// Returns `usually` seeds from `first` on, or `in_long_form`, or half with sanitizers, for
// INSTANTIATE_TEST_SUITE_P.
template <class Seed>
auto seeds(Seed first, Seed usually, Seed in_long_form) {
  return testing::Range(first, first + amount((usually + 1) / 2, usually, in_long_form));
}

}  // namespace pmemsim
