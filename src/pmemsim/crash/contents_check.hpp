// The image that a crash leaves is kept from what the memory tells of (PersistenceObserver). This
// holds it against what the memory has: its device, and what its queues have accepted. A queue that
// merges and keeps the older data, or a device that writes something else than it was given, tells
// what is right all the same.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "pmemsim/crash/crash_image.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class ContentsCheck {
 public:
  ContentsCheck(const Memory& pm, const CrashImage& image) : pm_(pm), image_(image) {}

  // Something has happened to that line of the device.
  void touched(Line place);
  // Of these, since the last time: one in which image and memory differ. Before recovery.
  std::optional<Line> difference();
  // The same of all that either holds.
  std::optional<Line> difference_anywhere() const;
  // The same of what is newest in caches that are persistent.
  std::optional<Line> difference_from(const Image& caches) const;

 private:
  static constexpr std::size_t kFewest = 1 << 16;  // lines, before they are looked through

  void forget_repetitions();
  bool differs(Line place) const { return image_.on_device(place) != pm_.surviving(place); }

  const Memory& pm_;
  const CrashImage& image_;
  std::vector<Line> touched_;
  std::size_t most_ = kFewest;  // of touched_, before repetitions are left out
};

}  // namespace pmemsim
