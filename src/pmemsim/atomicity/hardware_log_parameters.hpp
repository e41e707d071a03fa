// What all hardware logs have in common to configure.
#pragma once

#include "pmemsim/core/parameters.hpp"

namespace pmemsim {

struct HardwareLogParameters {
  Bytes ring_size{1u << 20};

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("ring_size", ring_size, {.least = 4096, .most = 1e9},
          "Log space of a core before it has to grow");
  }
};

}  // namespace pmemsim
