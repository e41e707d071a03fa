// Interface of an operation that has volatile tables of locations, which recovery rebuilds from the
// entries and the data in PM. Crash verification compares the two: the tables must equal those that
// recovery would rebuild from the crash image.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class SealedImage;

class PlacementTables {
 public:
  // Returns the places whose table entries have changed since the last call. Changes are recorded
  // from the first call on, so that runs without crashes don't pay for this.
  virtual std::vector<Line> changed_places() = 0;
  // True if the line's latest write was dropped from its queue, and has left its entry behind.
  virtual bool is_stale(Line line) const = 0;
  // Describes how the tables differ from the image at that place; empty if they don't.
  virtual std::string problem(Line place, const SealedImage& image) const = 0;

 protected:
  ~PlacementTables() = default;
};

}  // namespace pmemsim
