// Recovery from a redo log (designs/atomicity/redo_regions.hpp) that continues from the previous
// crash.
//
// A redo log that is released late has thousands of regions, and recovery redoes all of them.
// Between two crashes, only a few regions are added at the end, and a few are released. The image
// therefore keeps the result of the last recovery. Regions that have committed since are redone in
// this image. Lines that only released regions have written are restored to their surviving
// contents. The result equals that of redoing all regions under two conditions: no record of an
// earlier redone region has changed, and the new regions follow all earlier ones. Otherwise all
// regions are redone.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/designs/atomicity/log_index.hpp"
#include "pmemsim/designs/atomicity/redo_regions.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"

namespace pmemsim {

class RedoRecovery final : public Recovery {
 public:
  explicit RedoRecovery(const HwRedo& design) : design_(design) {}

  void changed(Line line, const LineData& data) override;
  void run(RecoveryView pm) override;
  bool may_keep_image() const override { return may_keep_image_; }
  std::optional<std::vector<Line>> prepare_next_run(RecoveryView pm) override;

 private:
  using RegionKey = std::pair<CoreId, std::uint64_t>;
  struct Redone {
    std::uint64_t number;
    std::vector<Line> lines;
    std::vector<Line> headers;  // locations of the headers of its records
  };
  struct PerCore {
    std::uint64_t in_place = 0, committed = 0;  // registers at the last run
    std::deque<Redone> redone;                  // in the order of the regions' numbers
  };

  bool is_redone(const std::optional<RegionKey>& region) const;
  bool extends_last_run(const HwRedo::Survivors& now) const;
  bool headers_hold(const std::vector<BufferedHeader>& buffers, const RecoveryView& pm);
  std::vector<Line> release(const HwRedo::Survivors& now);
  void redo_all(const std::vector<LoggedRegion>& regions, RecoveryView& pm);
  void remember(const LoggedRecord& record, Redone& redone);
  void restart();

  const HwRedo& design_;
  LogIndex index_;
  std::vector<PerCore> cores_;
  std::vector<LogSurvivors::Ring> rings_;
  LineMap<RegionKey> last_writer_;  // the last region to write a line, among the regions redone
  LineMap<LogHeader> headers_;      // headers of their records, by location
  // Locations where PM may hold another header; a buffered header takes precedence.
  std::vector<Line> unsettled_;
  std::uint64_t last_order_ = 0;
  // True if a line of a redone region's record, other than its header, has changed.
  bool record_changed_ = false;
  bool may_keep_image_ = false;
  std::optional<std::vector<LoggedRegion>> next_;  // regions that run() redoes next
};

}  // namespace pmemsim
