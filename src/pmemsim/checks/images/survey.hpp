// Counts a recording's images, before any image is made, to plan the search.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

struct Survey {
  double possible = 1;  // Number of sets of segments: an upper bound of the number of images
  std::uint64_t instants = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> likely;  // Number of sets, by LikelySet::code
  // Hash of all instants: their open segments, and which of these are guaranteed. Two programs with
  // the same stores and the same digest leave the same images: visible segments that are no longer
  // open are in the base.
  std::uint64_t digest = 0;
};

// Counts the images of a recording. Throws trace::TraceError.
Survey survey(const trace::TraceFile& trace, PersistencyRules rules, const Variation& variation);

// A recording and its variation.
struct Surveyed {
  const trace::TraceFile& trace;
  const Variation& variation;
};
// True if the two programs, which must have the same stores, have the same digest. Ends at the
// first instant at which they differ.
bool have_same_digest(const Surveyed& one, const Surveyed& other, PersistencyRules rules);

// True if a recording may have more images. Ends as soon as that is known.
bool may_exceed(const Surveyed& recording, PersistencyRules rules, double images);

}  // namespace pmemsim
