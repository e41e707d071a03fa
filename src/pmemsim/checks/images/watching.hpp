// Decides whether the checker's reads of an image are watched. Watching takes time. It saves time
// if other images need not be shown, because the reads determine their verdicts.
//
//   1  kTrial images are watched. If at least half as many images need not be shown meanwhile, the
//      next kTrial images are watched, too.
//   2  Otherwise no image is watched during a pause of kFirstPause images. Each further pause is
//      kLonger times as long, until watching saves time again.
#pragma once

#include <cstdint>

namespace pmemsim {

class Watching {
 public:
  static constexpr std::uint64_t kTrial = 16, kFirstPause = 256, kLonger = 4;

  bool on() const { return on_; }
  // Counts an image that was shown to the checker.
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
  // Counts an image that need not be shown.
  void spared() { ++spared_; }

 private:
  bool on_ = true;
  std::uint64_t shown_ = 0, spared_ = 0, pause_ = kFirstPause;
};

}  // namespace pmemsim
