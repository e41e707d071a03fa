// Analysis of a recorded recovery as a program of its own: its stores to an image, and its reads of
// data that the crash left open (possibly lost). Its recording begins with the image.
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

// Address ranges at which recovery mapped the crashed program's persistent memory, each contiguous
// and at an address of its own.
class RecoveryPlaces {
 public:
  struct Place {
    std::uint64_t begin, end;  // In recovery's recording; both aligned to lines
    std::uint64_t crashed;     // Address in the crashed program
  };
  explicit RecoveryPlaces(std::vector<Place> places) : places_(std::move(places)) {}

  // Returns the crashed program's line; nothing if recovery's line is not in its memory.
  std::optional<Line> in_crashed(Line line) const;

 private:
  std::vector<Place> places_;
};

// Recovery's stores to persistent memory.
struct PersistSteps {
  std::uint64_t stores = 0;
  // Hash of the stores, flushes and fences: instructions, addresses, values, and the values
  // overwritten.
  std::uint64_t hash = 1;
};
// Returns the persist steps of a recovery. Throws trace::TraceError.
PersistSteps persist_steps(const trace::TraceFile& recovery);

// A load of recovery from a location with a store that was visible at the crash but possibly lost.
// `there`: the image contains the store's value. Otherwise the load would have read it if the store
// had persisted.
struct OpenRead {
  std::uint32_t load;   // Recovery's site
  std::uint32_t store;  // The crashed program's site
  bool there;
  auto operator<=>(const OpenRead&) const = default;
};
// Returns the open reads of recovery from the current image of `images`. Recovery may read its own
// earlier stores. Throws trace::TraceError.
std::set<OpenRead> open_reads(const AllowedImages& images, const trace::TraceFile& recovery,
                              const RecoveryPlaces& places);

}  // namespace pmemsim
