// The long form of the tests, which `make test-long` selects with PMEMSIM_LONG_TESTS where nothing
// is compiled with sanitizers. It runs more cases that differ only in their random numbers; each
// shortened test has a comment on what it adds.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace pmemsim {

inline bool long_tests() {
  const char* asked = std::getenv("PMEMSIM_LONG_TESTS");
  return asked != nullptr && *asked != '\0';
}

// Returns `usually` seeds from `first` on, or `in_long_form`, for INSTANTIATE_TEST_SUITE_P.
template <class Seed>
auto seeds(Seed first, Seed usually, Seed in_long_form) {
  return testing::Range(first, first + (long_tests() ? in_long_form : usually));
}

}  // namespace pmemsim
