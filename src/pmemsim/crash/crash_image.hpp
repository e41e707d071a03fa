// What would survive a crash now, kept up to date line by line, and what recovery makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/crash/oracle.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class CrashImage final : public Oracle::ImageReader {
 public:
  // Before the run: `plain` is what programs find there. `decoder`: what has to read the device
  // before recovery can; nullptr: nothing.
  CrashImage(const Memory& pm, const Image& plain, Recovery& recovery, ImageDecoder* decoder);

  // What survives on the device has changed there.
  void update(Line place, const LineData& data);
  // ... or in persistent registers of the backend.
  void registers_changed();
  LineData on_device(Line place) const;
  // Has a page wherever on_device() isn't zero.
  const Image& device() const { return decoder_ != nullptr ? device_ : image_; }
  // What lines would survive with, if it were that on the device, and why the image couldn't be
  // read then; empty if it could.
  struct Decoded {
    std::vector<std::pair<Line, LineData>> lines;
    std::string problem;
  };
  Decoded decoded(Line place, const LineData& data);
  // What survives of a line that caches or programs name has changed.
  void update_line(Line line, const LineData& data);
  // Recovers; from now on, read() sees the recovered image. Throws RecoveryError, also if what
  // survives can't be decoded.
  void recover();
  // Has recovery changed anything?
  bool repaired() const;
  // Back to what has survived, unless the image may stay as it is.
  void undo_recovery();
  // After that: is a recovery that is stopped at one of its writes and run again always the same,
  // as far as the program's words go? Adds how often it was run again to `restarts`.
  bool survives_restarts(const ProgramHistory& history, std::uint64_t& restarts);

  LineData read(Line line) const override { return image_.read(line); }
  // Without recovery.
  LineData survived(Line line) const;
  // What recovery has found there; after recover().
  LineData before_recovery(Line line) const;
  const Image& image() const { return image_; }
  // The lines in which the recovered image may differ from the one that was judged last: what has
  // changed since, what recovery changes, and what it changed then.
  const std::vector<Line>& changed() const { return changed_; }
  void judged();

  // Some lines hold something else, until take_back().
  void also(const std::vector<std::pair<Line, LineData>>& lines);
  void take_back();

 private:
  // What has survived beneath what recovery has written, in an image that stays recovered.
  struct Beneath {
    LineData survived;
    bool differs;
  };

  void write(Line line, const LineData& data);
  void undo(const RecoveryJournal& journal);
  void go_on_or_give_back();
  void give_back(Line line);
  void keep();

  Recovery& recovery_;
  ImageDecoder* const decoder_;
  Image device_;  // only if it has to be decoded
  Image image_;
  RecoveryJournal journal_;
  std::vector<RecoveryJournal::Write> restarted_;  // of the latest recovery that was stopped
  std::vector<Line> changed_;
  std::vector<Line> recovered_;  // lines that recovery wrote in the image judged last
  RecoveryJournal also_;
  bool stays_ = false;
  std::unordered_map<std::uint64_t, Beneath> beneath_;  // by line number
  std::uint64_t differing_ = 0;                         // of these
};

}  // namespace pmemsim
