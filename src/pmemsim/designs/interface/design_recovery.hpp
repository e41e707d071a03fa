// A design's recovery procedure, bound to the design whose surviving structures it uses.
#pragma once

#include <optional>
#include <vector>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Reports that the recovery procedure has refused the image.
class RecoveryError : public Error {
 public:
  using Error::Error;
};

class Recovery {
 public:
  virtual ~Recovery() = default;
  // Notifies the procedure that the image's line now holds these data.
  virtual void changed(Line, const LineData&) {}
  // Recovers the image from the state that survives at the time of the call. Throws RecoveryError.
  virtual void run(RecoveryView pm) = 0;

  // True if the image may keep the last run's result, for a recovery that would do the same work
  // again at each crash. Only possible if recovery never reads what it writes.
  virtual bool may_keep_image() const { return false; }
  // Prepares the next run on the kept image `pm`. Lines that recovery doesn't write have been
  // updated to what has survived since. Returns the lines that must be restored before the next
  // run; nothing if all lines must be restored.
  virtual std::optional<std::vector<Line>> prepare_next_run(RecoveryView) { return {}; }
};

// The recovery of a design that leaves nothing to recover.
class NoRecovery final : public Recovery {
 public:
  void run(RecoveryView) override {}
};

}  // namespace pmemsim
