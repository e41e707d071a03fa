// Decoder of an image whose lines wear levelling has moved. It uses the regions' registers, as
// recovery does.
#pragma once

#include <vector>

#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/start_gap_regions.hpp"

namespace pmemsim {

class WearLevelledImage final : public ImageDecoder {
 public:
  // `moved`: the places whose line was moved to them by a change of registers, oldest first. The
  // caller appends to it during the run.
  WearLevelledImage(const StartGapRegions& regions, const std::vector<Line>& moved)
      : regions_(regions), moved_(moved) {}

  void changed(Line place, const LineData& data, const Tell& tell) override {
    device_.write(place, data);
    report_line_at(place, tell);
  }
  void registers_changed(const Tell& tell) override {
    for (; known_ < moved_.size(); ++known_) report_line_at(moved_[known_], tell);
  }

 private:
  void report_line_at(Line place, const Tell& tell) {
    if (const auto line = regions_.line_at(place)) tell(*line, device_.read(place));
  }

  const StartGapRegions& regions_;
  const std::vector<Line>& moved_;
  Image device_;
  std::size_t known_ = 0;  // number of moves that have been passed on
};

}  // namespace pmemsim
