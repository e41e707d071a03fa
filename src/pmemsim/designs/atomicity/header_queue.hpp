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
//      log is released, and is then discarded without a write to PM. When the queue has no room for
//      another header, the oldest header of a complete record is written as in rule 2.
//   4  While the queue is full, an entry of an undo log that needs a header stalls.
//   5  With a queue of no entries, headers are volatile until they are written, and no entry
//      stalls.
#pragma once

#include "pmemsim/designs/atomicity/header_buffer.hpp"

namespace pmemsim {

class HeaderQueue final : public HeaderBuffer {
 public:
  // `entries`: size of each channel's queue. `keeps_complete`: whether rule 3 holds instead of 2.
  HeaderQueue(std::uint32_t channels, std::uint32_t entries, bool keeps_complete)
      : HeaderBuffer(channels),
        entries_(entries),
        keeps_complete_(keeps_complete),
        held_(channels) {}

  bool has_space(std::uint32_t channel) const override { return held_[channel] < entries_; }
  // Implements rules 4 and 5 of the head comment.
  bool stalls_stores() const override { return entries_ > 0; }
  // Implements rules 2 and 3 of the head comment.
  bool keeps_complete() const override { return keeps_complete_; }

 private:
  void occupy(std::uint32_t channel) override { ++held_[channel]; }
  void vacate(std::uint32_t channel) override { --held_[channel]; }

  const std::uint32_t entries_;
  const bool keeps_complete_;
  std::vector<std::uint32_t> held_;  // by channel
};

}  // namespace pmemsim
