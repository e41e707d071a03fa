// What would survive a crash now, kept up to date line by line, and what recovery makes of it.
#pragma once

#include <utility>
#include <vector>

#include "pmemsim/crash/oracle.hpp"
#include "pmemsim/mem/memory.hpp"
#include "pmemsim/recovery/recovery_view.hpp"

namespace pmemsim {

// A design's recovery procedure, bound to the machine whose survivors it works from.
class Recovery {
 public:
  virtual ~Recovery() = default;
  // The image's line holds that now.
  virtual void changed(Line, const LineData&) {}
  // Throws RecoveryError.
  virtual void run(RecoveryView pm) = 0;
};

class CrashImage final : public Oracle::ImageReader {
 public:
  CrashImage(const Memory& pm, Recovery& recovery);

  // What survives has changed there.
  void update(Line line, const LineData& data);
  // Recovers; from now on, read() sees the recovered image.
  void recover();
  // Has recovery changed anything?
  bool repaired() const;
  // Back to what has survived.
  void undo_recovery();
  // After that: is a recovery that is stopped at one of its writes and run again always the same,
  // as far as the program's words go? Adds how often it was run again to `restarts`.
  bool survives_restarts(const ProgramHistory& history, std::uint64_t& restarts);

  LineData read(Line line) const override { return image_.read(line); }
  const Image& image() const { return image_; }
  // The lines in which the recovered image may differ from the one that was judged last: what has
  // changed since, what recovery changes, and what it changed then.
  const std::vector<Line>& changed() const { return changed_; }
  void judged();

  // Some lines survive as well, until take_back().
  void also(const std::vector<std::pair<Line, LineData>>& lines);
  void take_back();

 private:
  void write(Line line, const LineData& data);
  void undo(const RecoveryJournal& journal);

  Recovery& recovery_;
  Image image_;
  RecoveryJournal journal_;
  std::vector<RecoveryJournal::Write> restarted_;  // of the latest recovery that was stopped
  std::vector<Line> changed_;
  std::vector<Line> recovered_;  // lines that recovery wrote in the image judged last
  RecoveryJournal also_;
};

}  // namespace pmemsim
