// What a recovery procedure works on: the image that a crash has left. Keeps a journal, if wanted,
// so that the image can be given back as it was, and whoever crashes recovery itself knows every
// write of it.
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
  // From the lowest to the highest line.
  struct Extent {
    std::uint64_t first = UINT64_MAX, last = 0;
    void add(Line line) {
      first = std::min(first, line.number);
      last = std::max(last, line.number);
    }
    bool overlaps(const Extent& other) const { return first <= other.last && other.first <= last; }
  };
  std::vector<Write> writes;  // in their order
  Extent read, written;

  void clear() {
    writes.clear();
    read = written = {};
  }
};

class LogIndex;

class RecoveryView {
 public:
  // Not explicit: a recovery procedure takes a plain image as well.
  RecoveryView(Image& image, RecoveryJournal* journal = nullptr)
      : image_(image), journal_(journal) {}

  // Saves searching the whole log, if there is one for this image.
  const LogIndex* index() const { return index_; }
  void use(const LogIndex& index) { index_ = &index; }

  // The procedure has ways of its own to read the image, so it may have read any line.
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
