// A design's recovery procedure. It uses the structures of that design that survive a crash.
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
  // Notifies the procedure that the image's line has changed to these data.
  virtual void changed(Line, const LineData&) {}
  // Recovers the image from the state that survives at the time of the call. Throws RecoveryError.
  virtual void run(RecoveryView pm) = 0;

  // True if the image may keep the result of the last run, so that the next run doesn't repeat its
  // work. This is possible only if recovery never reads a line that it has written.
  virtual bool may_keep_image() const { return false; }
  // Prepares the next run on the kept image `pm`. Lines that recovery doesn't write already
  // contain the data that survive now. Returns the lines that must be restored before the next
  // run; nothing if all lines must be restored.
  virtual std::optional<std::vector<Line>> prepare_next_run(RecoveryView) { return {}; }
};

// The recovery of a design whose images need no recovery.
class NoRecovery final : public Recovery {
 public:
  void run(RecoveryView) override {}
};

}  // namespace pmemsim
