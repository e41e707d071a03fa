// Compares the crash image, which is built from the memory's notifications (PersistenceObserver),
// with the memory's state: its device, and the writes that its queues have accepted. The check
// detects faults in which the notifications are correct: a queue that merges writes and keeps the
// older data, and a device that writes other data than it receives.
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
  void touched(Line line);
  // Forgets the marked lines.
  void forget() { touched_.clear(); }
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
  bool differs(Line line) const { return image_.on_device(line) != pm_.surviving(line); }

  const Memory& pm_;
  const CrashImage& image_;
  std::vector<Line> touched_;
  std::size_t most_ = kFewest;  // Size of touched_ at which its duplicates are removed
};

}  // namespace pmemsim
