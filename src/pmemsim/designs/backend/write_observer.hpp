// Observer of the time that writes wait for the backend's operations, to evaluate prepared results.
#pragma once

#include <cstdint>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

// The deficiencies of the prepared results that an arriving write has found.
struct TakenOver {
  bool unfinished = false;  // some results weren't complete, or needed the write's data
  bool duplicate = false;   // the prepared location of the same data was wrong, or wrongly none
  bool outdated = false;    // other results were outdated
};

class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  // `number` identifies the write until it is done, or dropped.
  virtual void arrived(std::uint64_t number, const Write& write, const Prepared& prepared,
                       const TakenOver& taken, Time when) = 0;
  virtual void done(std::uint64_t number, Picoseconds waited) = 0;
};

}  // namespace pmemsim
