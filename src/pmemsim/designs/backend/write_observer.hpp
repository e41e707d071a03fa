// How long writes wait for the backend's operations, for whoever judges what was prepared.
#pragma once

#include <cstdint>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

// What a write that has come found wanting in the results that were prepared for it.
struct TakenOver {
  bool unfinished = false;  // some weren't there yet, or couldn't be, without its data
  bool duplicate = false;   // where the same data are, or that they are nowhere, didn't hold
  bool outdated = false;    // others didn't hold
};

class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  // `number` names the write until it is done, or dropped.
  virtual void came(std::uint64_t number, const Write& write, const Prepared& prepared,
                    const TakenOver& taken, Time when) = 0;
  virtual void done(std::uint64_t number, Picoseconds waited) = 0;
};

}  // namespace pmemsim
