// Decides which images are watched while they are checked. Watching takes time, and pays off if
// other images need not be shown then.
//
//   1  kTrial images are watched. If meanwhile at least half as many need not be shown, the next
//      ones are watched, too.
//   2  Otherwise no image is watched during a pause, which is longer each time that watching has
//      not paid off.
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
