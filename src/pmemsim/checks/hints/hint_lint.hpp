// What hints have cost, and what missing ones would have saved: follows every hinted line and every
// write of a run, and says of each write that had to wait for its operations why.
//
//   1  A write waits from its coming to the controller until its operations are done. The whole of
//      that goes to one finding.
//   2  If it has claimed a result, to the hint of that: the data were others than hinted; the hint
//      had no data; where the same data are in PM had changed; it wasn't done yet; other results
//      didn't hold any more. The first of these that is true counts, and of two hints, of address
//      and data, the one that has the data if these are wrong, the later one if it wasn't done yet,
//      else the one that has the address.
//   3  If it has claimed nothing, to the last hint of its line on which nothing was started yet:
//      a buffered one wasn't started, another one came too late. Without such, to the last one
//      whose result was lost: for lack of room, by its age, with its thread, or since the line's
//      counter has changed.
//   4  If there is none, a hint is missing: to the flush that the write comes from, or, if none has
//      left a core since the line's last write (an eviction, a non-temporal store), to the last
//      store to the line.
//   5  A hinted line of which no write has used anything has also cost its share of the call: the
//      time in which a core dispatches the call's instructions, divided by the call's lines.
//   6  A line that the program has freed before writing it (recorded_calls.hpp) is a finding of its
//      own kind. Whoever writes there next isn't who was hinted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/checks/hints/hint_findings.hpp"
#include "pmemsim/checks/hints/recorded_calls.hpp"
#include "pmemsim/designs/backend/write_observer.hpp"
#include "pmemsim/designs/interface/hint_observer.hpp"
#include "pmemsim/designs/interface/program_events.hpp"

namespace pmemsim {

class HintLint final : public HintObserver, public WriteObserver, public ProgramObserver {
 public:
  // `threads`: of the recording, one after the other; those of several instances repeat.
  // `call`: the time that a hint's call takes.
  HintLint(std::span<const RecordedCalls> threads, Picoseconds call)
      : threads_(threads), call_(call) {}

  void announced(const Announcement& announcement) override;
  void merged(const HintedLine& part) override;
  void lost(const HintedLine& part, HintLoss where) override;
  void started(const HintedLine& part, PreparedId id) override;
  void too_late(const HintedLine& part) override { fail(part, HintCause::kNotStarted); }
  void outcome(const Outcome& outcome) override;

  void came(std::uint64_t number, const Write& write, const Prepared& prepared,
            const TakenOver& taken, Time when) override;
  void done(std::uint64_t number, Picoseconds waited) override;

  void stored(Line line, std::uint32_t site) override { writers_[line].store = site; }
  void flushed(CoreId core, Line line) override;
  void region_durable(CoreId, std::uint64_t) override {}
  void fence_fulfilled(CoreId, std::uint64_t) override {}

  // The run is over.
  void finish();
  const HintTotals& totals() const { return totals_; }
  const SiteFindings& findings() const { return findings_; }

 private:
  using Parts = std::vector<HintedLine>;  // of a result: what has announced it

  // What a write's waiting goes to, or a hint's failing.
  struct Blame {
    SiteKey key{};
    bool used = false;    // the write uses what the hint has prepared: only waiting counts
    Picoseconds share{};  // of the hint's call
    Time since{};         // the hint's call
    Time came{};          // the write; kNever: none
  };
  // What a line's write comes from.
  struct Writers {
    std::uint32_t store = 0, flush = 0;
    bool flushed = false;                               // since its last write
    std::unordered_map<CoreId, std::size_t> flushes{};  // by core, so far
  };

  const RecordedCalls& thread(CoreId core) const { return threads_[core % threads_.size()]; }
  bool freed(const HintedLine& part) const {
    return thread(part.core).freed.contains({part.hint, part.line});
  }
  const HintedLine* find(const Parts& parts, bool data) const;
  HintCause judge(const Parts& parts, const Prepared& prepared, const TakenOver& taken) const;
  const HintedLine& whose(const Parts& parts, HintCause cause) const;
  Blame take(const HintedLine& part, HintCause cause, bool used);
  Blame unclaimed(Line line);
  Blame missing(Line line);
  void fail(const HintedLine& part, HintCause cause);
  void forget_failed(Line line);
  void add(const Blame& blame, Picoseconds waited);

  const std::span<const RecordedCalls> threads_;
  const Picoseconds call_;
  std::map<HintedLine, Announcement> announced_;       // that nothing has become of yet
  std::set<std::pair<Line, HintedLine>> not_started_;  // of these, that say their line
  std::map<PreparedId, Parts> entries_;
  std::map<Line, Blame> failed_;  // the last one of each line that hasn't been written since
  std::unordered_map<std::uint64_t, Blame> waiting_;  // by the write's number
  std::map<Line, Writers> writers_;
  HintTotals totals_;
  SiteFindings findings_;
};

}  // namespace pmemsim
