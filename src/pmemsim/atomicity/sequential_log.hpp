// Where a thread's log records stand in PM if they are allocated one after the other: a ring, as
// ASAP's log buffer (section 5.5) and every design that LALEA compares with have it.
//
// The ring grows when a region needs more than it has (ASAP, section 4.4: an exception allocates
// more log space). Rings lie beyond all addresses that a program can have, each core's one page
// further than a power of two, so that they don't all begin in the same bank.
#pragma once

#include <cstdint>

#include "pmemsim/atomicity/log_record.hpp"

namespace pmemsim {

class SequentialLog {
 public:
  SequentialLog(CoreId core, std::uint64_t bytes)
      : first_{(kBase + core * kStride) / kLineBytes}, lines_(bytes / kLineBytes) {}

  // The place of the next record; its header is the first line.
  Line allocate() {
    if (used_ + kRecordLines > lines_) {
      tail_ = lines_;  // what is in use stays where it is
      lines_ *= 2;
      ++growths_;
    }
    if (tail_ + kRecordLines > lines_) tail_ = 0;
    const Line record{first_.number + tail_};
    tail_ += kRecordLines;
    used_ += kRecordLines;
    return record;
  }
  // Everything allocated so far is free again.
  void free_all() { used_ = 0; }

  // Records stand at multiples of kRecordLines from `first`.
  Line first() const { return first_; }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t growths() const { return growths_; }

 private:
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 55;
  static constexpr std::uint64_t kStride = (std::uint64_t{1} << 40) + 4096;

  Line first_;
  std::uint64_t lines_;
  std::uint64_t tail_ = 0;  // where the next record goes
  std::uint64_t used_ = 0;
  std::uint64_t growths_ = 0;
};

}  // namespace pmemsim
