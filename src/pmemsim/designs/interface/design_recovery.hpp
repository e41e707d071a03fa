// A design's recovery procedure, bound to the design whose survivors it works from.
#pragma once

#include <optional>
#include <vector>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// The recovery procedure has refused the image.
class RecoveryError : public Error {
 public:
  using Error::Error;
};

class Recovery {
 public:
  virtual ~Recovery() = default;
  // The image's line holds that now.
  virtual void changed(Line, const LineData&) {}
  // What survives at the time of the call. Throws RecoveryError.
  virtual void run(RecoveryView pm) = 0;

  // For a recovery that would do the same again and again, from crash to crash: may the image stay
  // as the last run has left it? Only if recovery never reads what it writes.
  virtual bool image_may_stay() const { return false; }
  // `pm` has stayed so, but for what has survived since in lines that recovery doesn't write. Can
  // the next run go on from there, after these lines have been given back? Otherwise it wants all
  // of them back.
  virtual std::optional<std::vector<Line>> go_on(RecoveryView) { return {}; }
};

// Of a design that leaves nothing to do.
class NoRecovery final : public Recovery {
 public:
  void run(RecoveryView) override {}
};

}  // namespace pmemsim
