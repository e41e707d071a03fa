// Which images are watched while they are checked. That takes time, and pays if others needn't be
// shown then.
//
//   1  So many images are watched (kTrial). If at least half as many needn't be shown meanwhile, so
//      are the next ones.
//   2  Otherwise none are for a while, which is longer each time that it hasn't paid.
#pragma once

#include <cstdint>

namespace pmemsim {

class Watching {
 public:
  static constexpr std::uint64_t kTrial = 16, kFirstPause = 256, kLonger = 4;

  bool on() const { return on_; }
  void shown() {
    if (++shown_ < (on_ ? kTrial : pause_)) return;
    if (!on_) {
      pause_ *= kLonger;
      on_ = true;
    } else if (2 * spared_ >= shown_) {
      pause_ = kFirstPause;
    } else {
      on_ = false;
    }
    shown_ = spared_ = 0;
  }
  void spared() { ++spared_; }

 private:
  bool on_ = true;
  std::uint64_t shown_ = 0, spared_ = 0, pause_ = kFirstPause;
};

}  // namespace pmemsim
