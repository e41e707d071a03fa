// Who keeps tables of places that are volatile, since recovery rebuilds them from the entries and
// the data in PM. In a crash's image both can be held against each other: what is kept must be what
// would be rebuilt.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class SealedImage;

class PlaceKeeper {
 public:
  // Places of which something else is kept than at the last call. From the first call on they are
  // written down, so that a run without crashes has no work with it.
  virtual std::vector<Line> changed_places() = 0;
  // The line's latest write was dropped from its queue, and has left its entry behind.
  virtual bool is_stale(Line line) const = 0;
  // Empty if what is kept of the place is what the image says; otherwise what isn't.
  virtual std::string problem(Line place, const SealedImage& image) const = 0;

 protected:
  ~PlaceKeeper() = default;
};

}  // namespace pmemsim
