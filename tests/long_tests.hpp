// The long form of the tests, which `make test-long` asks for by PMEMSIM_LONG_TESTS: more of what
// differs only in its random numbers. Each place that is shorter otherwise says what the long form
// adds.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace pmemsim {

inline bool long_tests() {
  const char* asked = std::getenv("PMEMSIM_LONG_TESTS");
  return asked != nullptr && *asked != '\0';
}

// Seeds from `first` on, for INSTANTIATE_TEST_SUITE_P: so many usually, and so many in the long
// form.
template <class Seed>
auto seeds(Seed first, Seed usually, Seed in_long_form) {
  return testing::Range(first, first + (long_tests() ? in_long_form : usually));
}

}  // namespace pmemsim
