// The crash image is built from the memory's notifications (PersistenceObserver). This check
// compares it with the memory's state: its device, and the writes that its queues have accepted. It
// detects a queue that merges writes and keeps the older data, and a device that writes other data
// than it receives. The notifications are correct in both cases.
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

  // Marks a line of the device as changed.
  void touched(Line place);
  // Returns a line, among those marked since the last call, in which image and memory differ. Call
  // it before recovery.
  std::optional<Line> difference();
  // Returns a line in which image and memory differ, among all lines of both.
  std::optional<Line> difference_anywhere() const;
  // Returns a line in which the image differs from the newest data in persistent caches.
  std::optional<Line> difference_from(const Image& caches) const;

 private:
  static constexpr std::size_t kFewest = 1 << 16;  // Minimum of most_, in lines

  void forget_repetitions();
  bool differs(Line place) const { return image_.on_device(place) != pm_.surviving(place); }

  const Memory& pm_;
  const CrashImage& image_;
  std::vector<Line> touched_;
  std::size_t most_ = kFewest;  // Size of touched_ at which its duplicates are removed
};

}  // namespace pmemsim
