// Where a core's log records stand in PM if they are allocated one after the other: a ring, as
// ASAP's log buffer (section 5.5) and every design that LALEA compares with have it.
//
// The ring grows when more is in use than it holds (ASAP, section 4.4: an exception allocates more
// log space). Rings lie beyond all addresses that a program can have, each core's one page further
// than a power of two, so that they don't all begin in the same bank.
#pragma once

#include <cstdint>
#include <deque>

#include "pmemsim/atomicity/log_record.hpp"

namespace pmemsim {

class SequentialLog {
 public:
  SequentialLog(CoreId core, std::uint64_t bytes)
      : first_{(kLogBase + core * kStride) / kLineBytes},
        initial_(bytes / (kRecordLines * kLineBytes)) {
    extend(initial_);
  }

  // The place of the next record; its header is the first line.
  Line allocate() {
    if (free_.empty()) {
      extend(initial_);
      ++growths_;
    }
    const Line record = next();
    free_.pop_front();
    return record;
  }
  // Where allocate() will put it.
  Line next() const { return place(free_.empty() ? records_ : free_.front()); }
  // The records are used again in the order in which they are freed.
  void free(Line record) { free_.push_back((record.number - first_.number) / kRecordLines); }

  // Records stand at multiples of kRecordLines from `first`.
  Line first() const { return first_; }
  std::uint64_t lines() const { return records_ * kRecordLines; }
  std::uint64_t growths() const { return growths_; }

 private:
  static constexpr std::uint64_t kStride = (std::uint64_t{1} << 40) + 4096;

  Line place(std::uint64_t record) const { return {first_.number + record * kRecordLines}; }
  void extend(std::uint64_t records) {
    for (; records > 0; --records) free_.push_back(records_++);
  }

  Line first_;
  std::uint64_t initial_;
  std::uint64_t records_ = 0;
  std::uint64_t growths_ = 0;
  std::deque<std::uint64_t> free_;
};

}  // namespace pmemsim
