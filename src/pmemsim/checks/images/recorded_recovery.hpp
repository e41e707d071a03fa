// A checker's recovery as a program of its own: what it has done to an image, and what it has read
// there that the crash left open. Its recording begins with the image.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pmemsim/checks/images/allowed_images.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// Where recovery had the crashed program's persistent memory: each in one piece, at its own place.
class RecoveryPlaces {
 public:
  struct Place {
    std::uint64_t begin, end;  // in recovery's recording; both are of lines
    std::uint64_t crashed;     // where the crashed program had it
  };
  explicit RecoveryPlaces(std::vector<Place> places) : places_(std::move(places)) {}

  // The crashed program's line; none: recovery's line isn't of its memory.
  std::optional<Line> in_crashed(Line line) const;

 private:
  std::vector<Place> places_;
};

// What recovery does to persistent memory.
struct PersistSteps {
  std::uint64_t stores = 0;
  // The same for the same stores, flushes and fences: instructions, addresses, values, and what was
  // there before.
  std::uint64_t hash = 1;
};
// Throws trace::TraceError.
PersistSteps persist_steps(const trace::TraceFile& recovery);

// Recovery loads what a store has left that was visible at the crash, but not sure to persist: the
// value is there. Or it isn't, and the load would have found it.
struct OpenRead {
  std::uint32_t load;   // recovery's site
  std::uint32_t store;  // the crashed program's
  bool there;
  auto operator<=>(const OpenRead&) const = default;
};
// Of recovery from the image that `images` has come to. What it has stored itself before, it may
// read. Throws trace::TraceError.
std::set<OpenRead> open_reads(const AllowedImages& images, const trace::TraceFile& recovery,
                              const RecoveryPlaces& places);

}  // namespace pmemsim
