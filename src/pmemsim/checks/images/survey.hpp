// How much there is to see: what a recording's images are counted by before they are made.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

struct Survey {
  double possible = 1;  // sets of pieces; images are as many, or fewer if two hold the same
  std::uint64_t instants = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> likely;  // by LikelySet::code: how many
  // Of all instants, each with its open pieces and which of them are sure. Two programs with the
  // same stores and the same digest leave the same images: what is visible and not open any more is
  // in the base.
  std::uint64_t digest = 0;
};

// Throws trace::TraceError.
Survey survey(const trace::TraceFile& trace, PersistencyRules rules, const trace::LeftOut& without);

}  // namespace pmemsim
