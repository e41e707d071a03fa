// Log records that follow each other in rings, as in ASAP's log buffer (Abulila et al., ISCA 2022,
// sections 4.4 and 5.5; figure 5a) and in every design that LALEA compares with.
//
//   1  A record is a header of one line, and the seven lines that follow it.
//   2  Records follow each other in a ring, either of each core or of all cores. They are reused in
//      the order in which they are freed.
//   3  The ring grows when all of its records are in use (ASAP, 4.4: an exception allocates more
//      log space).
//   4  A ring's registers of address and size (LogAddress, LogSize) survive a crash. Recovery finds
//      the ring by these registers.
//
// Rings lie beyond all addresses that a program can have. Their distance is a power of two plus a
// page, so that they don't all begin in the same bank.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "pmemsim/designs/atomicity/log_space.hpp"
#include "pmemsim/designs/backend/backend.hpp"

namespace pmemsim {

// One ring.
class SequentialLog {
 public:
  SequentialLog(CoreId core, std::uint64_t bytes)
      : first_{(kLogBase + core * kStride) / kLineBytes},
        initial_(bytes / (kRecordLines * kLineBytes)) {
    extend(initial_);
  }

  // Returns the location of the next record; its header is the first line (rules 1 and 3).
  Line allocate() {
    if (free_.empty()) {
      extend(initial_);
      ++growths_;
    }
    const Line record = next();
    free_.pop_front();
    return record;
  }
  // Returns the location that allocate() will return.
  Line next() const { return place(free_.empty() ? records_ : free_.front()); }
  void free(Line record) { free_.push_back((record.number - first_.number) / kRecordLines); }

  // Returns the first line. Records are at multiples of kRecordLines from it.
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

class SequentialSpace final : public LogSpace {
 public:
  // `bytes`: the size for one core; if there is one ring, the cores share the total.
  SequentialSpace(const Backend& pm, std::uint32_t cores, std::uint32_t rings, Bytes bytes)
      : pm_(pm), initial_records_(bytes.count * cores / (kRecordLines * kLineBytes)) {
    for (CoreId ring = 0; ring < rings; ++ring) {
      rings_.emplace_back(ring, bytes.count * (cores / rings));
    }
  }

  std::optional<HeaderPlace> begin_record(CoreId core) override {
    const Line place = ring(core).allocate();
    return HeaderPlace{place, place};
  }
  bool header_fits(CoreId core, const HeaderBuffer& buffer) override {
    return buffer.has_space(header_channel(core));
  }
  bool may_go_to(CoreId core, std::uint32_t channel) const override {
    return channel == pm_.channel_of(ring(core).next());
  }
  std::uint32_t header_channel(CoreId core) override { return pm_.channel_of(ring(core).next()); }
  Line entry(const std::optional<HeaderPlace>& record, std::uint32_t number) override {
    return {record->first.number + 1 + number};
  }
  void free_header(CoreId core, HeaderPlace place) override { ring(core).free(place.first); }

  std::uint64_t initial_records() const override { return initial_records_; }
  std::uint64_t growths() const override {
    std::uint64_t all = 0;
    for (const SequentialLog& ring : rings_) all += ring.growths();
    return all;
  }
  // Implements rule 4 of the head comment.
  void survive(LogSurvivors& survivors) const override {
    survivors.rings.reserve(rings_.size());
    for (const SequentialLog& ring : rings_) {
      survivors.rings.push_back({ring.first(), ring.lines()});
    }
  }

 private:
  SequentialLog& ring(CoreId core) { return rings_[core % rings_.size()]; }
  const SequentialLog& ring(CoreId core) const { return rings_[core % rings_.size()]; }

  const Backend& pm_;
  const std::uint64_t initial_records_;
  std::vector<SequentialLog> rings_;
};

}  // namespace pmemsim
