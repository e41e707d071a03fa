// Records what requests to persistent memory wait for, for profiles of the cores' time. A machine
// that isn't profiled has no RequestStages.
//
// Writes: at each time, the stage is
//   1  kQueue, if a write waits for a free entry of a write pending queue (or log queue);
//   2  else kBackend, if the backend holds a write for its operations;
//   3  else kNone.
// This holds for the writes of all cores together, since a controller doesn't know their senders.
//
// Reads: for the latest answered read of a line, the time that it waited for its bank, and the time
// that the backend's operations then needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class RequestStages {
 public:
  // A number of writes begin to wait for an entry, or stop if it is negative.
  void await_entry(std::int64_t writes, Time now) { count(awaiting_entries_, writes, now); }
  // The backend begins to hold this number of writes, or stops if it is negative.
  void hold(std::int64_t writes, Time now) { count(held_, writes, now); }

  struct Amounts {
    Picoseconds queue{}, backend{};
  };
  // Returns the parts of an interval in which writes were in these stages.
  Amounts between(Time from, Time until) const {
    // In most stalls, no write has been in a stage since `from`.
    const Change& latest = changes_.back();
    if (until <= from || (latest.when <= from && latest.stage == Stage::kNone)) return {};
    const Amounts begin = before(from), end = before(until);
    return {end.queue - begin.queue, end.backend - begin.backend};
  }

  void read_started(Line line, Picoseconds waited) { read_of(line) = {line, waited, {}}; }
  void read_decoded(Line line, Picoseconds took) {
    Read& read = read_of(line);
    if (read.line != line) read = {line, {}, {}};
    read.decoding = took;
  }
  struct Read {
    Line line{};
    Picoseconds bank{}, decoding{};
  };
  // Returns the latest read of the line; zeros if it is no longer known.
  Read latest_read(Line line) const {
    const Read& found = reads_[line.number % kReads];
    return found.line == line ? found : Read{};
  }

 private:
  enum class Stage : std::uint8_t { kNone, kBackend, kQueue };
  struct Change {
    Time when{};
    Stage stage = Stage::kNone;
    Amounts before{};  // from the start to `when`
  };
  // Changes before the latest ones are forgotten. Stalls are shorter than they reach back.
  static constexpr std::size_t kChanges = std::size_t{1} << 16;
  static constexpr std::size_t kReads = 4096;

  void count(std::int64_t& counter, std::int64_t writes, Time now) {
    counter += writes;
    const Stage stage = awaiting_entries_ > 0 ? Stage::kQueue
                        : held_ > 0           ? Stage::kBackend
                                              : Stage::kNone;
    Change& latest = changes_.back();
    if (stage == latest.stage) return;
    if (latest.when == now) {
      latest.stage = stage;
      return;
    }
    changes_.push_back({now, stage, until(latest, now)});
    if (changes_.size() > kChanges) changes_.pop_front();
  }

  static Amounts until(const Change& change, Time when) {
    Amounts sum = change.before;
    if (change.stage == Stage::kQueue) sum.queue += when - change.when;
    if (change.stage == Stage::kBackend) sum.backend += when - change.when;
    return sum;
  }
  Amounts before(Time when) const {
    const auto later = std::ranges::upper_bound(changes_, when, {}, &Change::when);
    return later == changes_.begin() ? later->before : until(*std::prev(later), when);
  }

  Read& read_of(Line line) { return reads_[line.number % kReads]; }

  std::int64_t awaiting_entries_ = 0, held_ = 0;
  std::deque<Change> changes_{Change{}};
  std::array<Read, kReads> reads_{};
};

}  // namespace pmemsim
