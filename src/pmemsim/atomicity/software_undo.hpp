// The program's own undo log (library/): ordinary stores, flushes and fences that are in the
// recording, so there is nothing to add to it ("SW", ASAP section 6.3).
#pragma once

#include "pmemsim/atomicity/atomicity.hpp"

namespace pmemsim {

class SoftwareUndo final : public Atomicity {
 public:
  Lowering lowering() const override { return {}; }
};

}  // namespace pmemsim
