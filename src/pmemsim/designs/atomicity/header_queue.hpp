// A channel's persistent queue for log headers: the log header write pending queue, LH-WPQ, of ASAP
// (Abulila et al., ISCA 2022, section 5.5). The hardware logs that ASAP compares with have a queue
// of similar size (section 6.3). A queue without entries models log entry collation alone (LEC:
// ATOM, HPCA 2017; LALEA, section II-B).
//
//   1  The header of a record that has space for entries is in this queue. The queue is part of the
//      persistence domain: its headers survive a crash.
//   2  Once the record is full and its entries are persistent, the header is written to its
//      location. It occupies its entry of the queue until that write is persistent.
//   3  With log.metadata=queue-buffered, the header of a full record stays in the queue until its
//      log is released, and is then discarded without a write to PM. While fewer entries than
//      cores are free, the oldest header of a complete record is written as in rule 2. Each core's
//      next header then finds room in time.
//   4  While the queue is full, an entry of an undo log that needs a header stalls.
//   5  With a queue of no entries, headers are volatile until they are written, and no entry
//      stalls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/designs/atomicity/header_buffer.hpp"

namespace pmemsim {

class HeaderQueue final : public HeaderBuffer {
 public:
  // `entries`: size of each channel's queue. `cores`: number of entries to keep free if rule 3
  // holds instead of 2.
  HeaderQueue(std::uint32_t channels, std::uint32_t entries,
              std::optional<std::uint32_t> cores = std::nullopt)
      : HeaderBuffer(channels), entries_(entries), kept_free_(cores), held_(channels) {}

  bool has_space(std::uint32_t channel) const override { return held_[channel] < entries_; }
  // Implements rules 4 and 5 of the head comment.
  bool stalls_stores() const override { return entries_ > 0; }
  // Implements rules 2 and 3 of the head comment.
  bool keeps_complete() const override { return kept_free_.has_value(); }
  bool is_short(std::uint32_t channel) const override {
    return kept_free_ && entries_ - held_[channel] < *kept_free_;
  }

 private:
  void occupy(std::uint32_t channel) override { ++held_[channel]; }
  void vacate(std::uint32_t channel) override { --held_[channel]; }

  const std::uint32_t entries_;
  const std::optional<std::uint32_t> kept_free_;
  std::vector<std::uint32_t> held_;  // by channel
};

}  // namespace pmemsim
