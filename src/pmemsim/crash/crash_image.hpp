// The data that would survive a crash now, updated line by line, and the image after recovery.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/crash/oracle.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class CrashImage final : public Oracle::ImageReader {
 public:
  // Constructs the image before the run: `plain` holds the initial data as programs read them.
  // `decoder` decodes the device's contents before recovery can read them; nullptr: no decoding.
  CrashImage(const Memory& pm, const Image& plain, Recovery& recovery, ImageDecoder* decoder);

  // Updates the surviving data of a device line.
  void update_on_device(Line device_line, const LineData& data);
  // Updates the image after a change of the backend's persistent registers.
  void registers_changed();
  LineData on_device(Line device_line) const;
  // Returns an image whose pages contain all lines for which on_device() isn't zero. Its contents
  // are those of on_device() unless recovery has run.
  const Image& device() const { return decoder_ != nullptr ? device_ : image_; }
  // The surviving lines for given device contents. `problem` is the reason why these contents can't
  // be decoded; empty if they can.
  struct Decoded {
    std::vector<std::pair<Line, LineData>> lines;
    std::string problem;
  };
  Decoded decoded(Line device_line, const LineData& data);
  // Updates the surviving data of a line, addressed as caches and programs address it.
  void update_line(Line line, const LineData& data);
  // Runs recovery; afterwards, read() returns lines of the recovered image. Throws RecoveryError,
  // also if the surviving data can't be decoded.
  void recover();
  // True if recovery has changed anything.
  bool repaired() const;
  // Restores the surviving data, unless the design lets the image stay recovered
  // (Recovery::may_keep_image()).
  void undo_recovery();
  // Stops recovery at each of its writes and runs it again, after undo_recovery(). True if the
  // program's words are always the same afterwards. Adds the number of repeated runs to `restarts`.
  bool survives_restarts(const ProgramHistory& history, std::uint64_t& restarts);

  LineData read(Line line) const override { return image_.read(line); }
  // Returns the surviving line, without recovery.
  LineData survived(Line line) const;
  // Returns the line before recovery; valid after recover().
  LineData before_recovery(Line line) const;
  const Image& image() const { return image_; }
  // Returns the lines in which the recovered image may differ from the image checked last: lines
  // changed since, and lines that recovery has changed in either image.
  const std::vector<Line>& changed() const { return changed_; }
  void mark_checked();
  // Removes repetitions from the changed lines if there are many, so that their number is bounded
  // while no image is checked.
  void forget_repetitions();
  // Forgets the latest recovery that was stopped. Called at the begin of each slice of crash
  // points.
  void forget_stopped_recovery() { restarted_.clear(); }

  // Replaces the surviving data of some lines, until undo_replacement().
  void replace(const std::vector<std::pair<Line, LineData>>& lines);
  void undo_replacement();

 private:
  // The surviving data of a line that recovery has overwritten, in an image that stays recovered.
  struct Overwritten {
    LineData survived;
    bool differs;
  };

  static constexpr std::size_t kFewChanged = 1 << 16;  // Minimum of most_changed_

  void write(Line line, const LineData& data);
  void undo(const RecoveryJournal& journal);
  void prepare_next_run();
  void restore(Line line);
  void note_overwritten();
  void note_recovered();
  // True if a repeated recovery has left the image of note_recovered().
  bool is_recovered(const ProgramHistory& history) const;

  Recovery& recovery_;
  ImageDecoder* const decoder_;
  Image device_;  // Used only if the image has to be decoded
  Image image_;
  RecoveryJournal journal_;
  RecoveryJournal again_;                // Writes of a recovery that runs again
  LineTable<LineData> recovered_lines_;  // The lines that journal_ has written, after its end
  std::vector<RecoveryJournal::Write> restarted_;  // Writes of the latest recovery that was stopped
  std::vector<Line> changed_;
  std::vector<Line> recovered_;  // Lines that recovery wrote in the image checked last
  RecoveryJournal replaced_;
  std::size_t most_changed_ = kFewChanged;  // Size of changed_ at which repetitions are removed
  bool keeps_result_ = false;
  std::unordered_map<std::uint64_t, Overwritten> overwritten_;  // By line number
  std::uint64_t differing_ = 0;  // Number of lines in overwritten_ that differ
};

}  // namespace pmemsim
