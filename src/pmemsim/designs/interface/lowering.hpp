// Lowering: one recording serves every design, because each design keeps only the operations that
// its own version of the program would contain.
#pragma once

#include <array>
#include <initializer_list>

#include "pmemsim/trace/format.hpp"

namespace pmemsim {

struct Lowering {
  using ByPurpose = std::array<bool, trace::kPurposes>;
  static constexpr ByPurpose kAll{true, true, true, true, true};

  // True if the code for this purpose is part of the design's program.
  ByPurpose keeps = kAll;
  // True if the flushes or fences in that code are kept.
  ByPurpose keeps_flushes = kAll;
  ByPurpose keeps_fences = kAll;
  // True if the kept fences include fences that only order.
  ByPurpose keeps_ordering_fences = kAll;
  // True if the code's other instructions are kept, which determine the lines to flush.
  ByPurpose keeps_the_rest = kAll;
  // True if non-temporal stores to PM stay non-temporal; otherwise they are ordinary stores to the
  // caches.
  bool keeps_non_temporal = true;
  // True if the kept store fences are instructions of the design's own, which don't stall later
  // instructions even where the machine's store fences do (core.full_fences).
  bool own_fences = false;

  // Returns a lowering that keeps everything except the code for these purposes.
  static constexpr Lowering without(std::initializer_list<trace::Purpose> purposes) {
    Lowering lowering;
    for (const auto purpose : purposes) lowering.keeps[static_cast<std::size_t>(purpose)] = false;
    return lowering;
  }

  // Returns the lowering that keeps what both layers keep.
  friend Lowering operator&(Lowering a, const Lowering& b) {
    for (std::size_t i = 0; i < trace::kPurposes; ++i) {
      a.keeps[i] = a.keeps[i] && b.keeps[i];
      a.keeps_flushes[i] = a.keeps_flushes[i] && b.keeps_flushes[i];
      a.keeps_fences[i] = a.keeps_fences[i] && b.keeps_fences[i];
      a.keeps_ordering_fences[i] = a.keeps_ordering_fences[i] && b.keeps_ordering_fences[i];
      a.keeps_the_rest[i] = a.keeps_the_rest[i] && b.keeps_the_rest[i];
    }
    a.keeps_non_temporal = a.keeps_non_temporal && b.keeps_non_temporal;
    a.own_fences = a.own_fences || b.own_fences;
    return a;
  }
};

}  // namespace pmemsim
