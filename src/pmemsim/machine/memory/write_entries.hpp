// The entries of a channel's write pending queue (WPQ) and of its log queue, and the writes that
// wait for an entry (channel.hpp, rules 5 to 8).
#pragma once

#include <algorithm>
#include <cstdint>

#include "pmemsim/machine/memory/bank_queues.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/pending_writes.hpp"

namespace pmemsim {

inline std::uint32_t part_of(std::uint32_t entries, Ratio ratio) {
  return static_cast<std::uint32_t>(ratio.value * entries);
}

// The entries of one queue.
class WriteEntries {
 public:
  WriteEntries(std::uint32_t entries, const MemoryParameters& parameters)
      : count(entries),
        high_watermark(
            static_cast<std::uint32_t>(parameters.write_high_watermark.value * entries)) {}

  bool full() const { return held_ == count; }
  bool nearly_full() const { return held_ > high_watermark || (full() && count > 0); }
  std::uint32_t held() const { return held_; }
  std::uint32_t most_held() const { return most_held_; }
  // Returns the total time in which the queue was full, and the sum over entries of the time in
  // use, until now.
  Picoseconds full_time(Time now) const {
    return full_time_ + (count > 0 && full() ? now - full_since_ : Picoseconds{0});
  }
  Picoseconds entry_time(Time now) const { return entry_time_ + (now - changed_) * held_; }

  void hold(Time now) {
    passed(now);
    if (++held_ == count) full_since_ = now;
    most_held_ = std::max(most_held_, held_);
  }
  void free(Time now) {
    if (full()) full_time_ += now - full_since_;
    passed(now);
    --held_;
  }

  const std::uint32_t count;
  const std::uint32_t high_watermark;
  RequestList<PendingWrite> waiting;

 private:
  // Adds up the entries in use over time, before their number changes.
  void passed(Time now) {
    entry_time_ += (now - changed_) * held_;
    changed_ = now;
  }

  std::uint32_t held_ = 0, most_held_ = 0;
  Time full_since_ = kNever;
  Picoseconds full_time_{};
  Time changed_{};
  Picoseconds entry_time_{};
};

// The queues of a channel.
struct WriteQueues {
  explicit WriteQueues(const MemoryParameters& parameters)
      : wpq(parameters.wpq_entries, parameters), log(parameters.log_queue_entries, parameters) {}

  // Returns the queue that accepts writes of this kind (rule 7).
  WriteEntries& of(WriteKind kind) {
    const bool is_log = kind == WriteKind::kLog || kind == WriteKind::kLogHeader;
    return is_log && log.count > 0 ? log : wpq;
  }
  WriteEntries& of(const PendingWrite& write) { return write.log_queued ? log : wpq; }

  WriteEntries wpq, log;
};

}  // namespace pmemsim
