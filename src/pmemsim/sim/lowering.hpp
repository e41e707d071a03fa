// Lowering: one recording serves every design, because each design keeps of the program what its
// own version of the program would contain.
#pragma once

#include <array>
#include <initializer_list>

#include "pmemsim/trace/format.hpp"

namespace pmemsim {

struct Lowering {
  // By trace::Purpose: is this code part of the design's program?
  std::array<bool, trace::kPurposes> keeps{true, true, true, true};
  bool keeps_flushes = true;
  bool keeps_fences = true;

  // All but the code for these purposes.
  static constexpr Lowering without(std::initializer_list<trace::Purpose> purposes) {
    Lowering lowering;
    for (const auto purpose : purposes) lowering.keeps[static_cast<std::size_t>(purpose)] = false;
    return lowering;
  }

  // What both layers leave.
  friend Lowering operator&(Lowering a, const Lowering& b) {
    for (std::size_t i = 0; i < a.keeps.size(); ++i) a.keeps[i] = a.keeps[i] && b.keeps[i];
    a.keeps_flushes = a.keeps_flushes && b.keeps_flushes;
    a.keeps_fences = a.keeps_fences && b.keeps_fences;
    return a;
  }
};

}  // namespace pmemsim
