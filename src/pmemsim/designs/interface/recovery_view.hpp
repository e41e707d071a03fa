// A recovery procedure's access to the image that a crash has left. An optional journal records
// every write of the procedure. Its reader can restore the image, or build the images that a crash
// during recovery leaves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

struct RecoveryJournal {
  struct Write {
    Line line;
    LineData before, after;
  };
  // The range from the lowest to the highest accessed line.
  struct Extent {
    std::uint64_t first = UINT64_MAX, last = 0;
    void add(Line line) {
      first = std::min(first, line.number);
      last = std::max(last, line.number);
    }
    bool overlaps(const Extent& other) const { return first <= other.last && other.first <= last; }
  };
  std::vector<Write> writes;  // in execution order
  Extent read, written;

  void clear() {
    writes.clear();
    read = written = {};
  }
};

class LogIndex;

class RecoveryView {
 public:
  // The constructor is not explicit, so that a recovery procedure takes a plain image as well.
  RecoveryView(Image& image, RecoveryJournal* journal = nullptr)
      : image_(image), journal_(journal) {}

  // Returns this image's index of the log, which saves a search of the whole log; nullptr if none.
  const LogIndex* index() const { return index_; }
  void use(const LogIndex& index) { index_ = &index; }

  // Records that the procedure may have read any line, because it also reads the image without
  // read().
  void may_read_everything() const {
    if (journal_ != nullptr) journal_->read = {0, UINT64_MAX};
  }
  LineData read(Line line) const {
    if (journal_ != nullptr) journal_->read.add(line);
    return image_.read(line);
  }
  void write(Line line, const LineData& data) {
    if (journal_ != nullptr) {
      journal_->written.add(line);
      journal_->writes.push_back({line, image_.read(line), data});
    }
    image_.write(line, data);
  }

 private:
  Image& image_;
  RecoveryJournal* journal_;
  const LogIndex* index_ = nullptr;
};

}  // namespace pmemsim
