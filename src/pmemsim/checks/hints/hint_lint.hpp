// The cost of hints, and the time that missing hints would save. The linter follows every hinted
// line and every write of a run, and finds the reason for each write that waits for its operations.
//
//   1  A write waits from its arrival at the controller until its operations are done. The whole
//      wait is attributed to one finding.
//   2  If the write has claimed a result, the wait is attributed to the result's hint. The first
//      true reason counts: the data differed from the hinted data; the hint had no data; the
//      prepared location of the same data in PM was wrong; a result was not complete yet; other
//      results were no longer valid. Without a reason the hint was in time. If one hint gave the
//      address and another one the data, the wait is attributed to one of them: to the data's hint
//      if the data were wrong, to the later hint if the result was not done yet, and otherwise to
//      the address's hint.
//   3  If the write has claimed nothing, the wait is attributed to the last hint of its line whose
//      operations have not started: a buffered hint without a start, or a hint whose request was
//      still queued when the write arrived. If there is none, it is attributed to the last hint
//      whose request or result was lost: for lack of space, because of its age, at its thread's
//      end, because the line's counter has changed, or because it was started too late.
//   4  Otherwise a hint is missing. The wait is attributed to the flush that caused the write. If
//      no flush has left a core since the line's last write (an eviction or a non-temporal store
//      caused the write), the wait is attributed to the last store to the line.
//   5  If no write has used anything of a hinted line, the line has also cost its share of the
//      call. The share is the time in which a core dispatches the call's instructions, divided by
//      the number of the call's lines.
//   6  A hinted line that the program has freed before its write (recorded_calls.hpp) is a finding
//      of its own kind. The next write of that line is not the hinted write, unless the hint was in
//      time for it (rule 2).
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
  // `threads`: the recording's threads in order; several instances repeat them. `call`: the time
  // that a hint's call takes.
  HintLint(std::span<const RecordedCalls> threads, Picoseconds call)
      : threads_(threads), call_(call) {}

  void announced(const Announcement& announcement) override;
  void merged(const HintedLine& part) override;
  void lost(const HintedLine& part, HintLoss where) override;
  void started(const HintedLine& part, PreparedId id) override;
  void too_late(const HintedLine& part) override { fail(part, HintCause::kNotStarted); }
  void outcome(const Outcome& outcome) override;

  void arrived(std::uint64_t number, const Write& write, const Prepared& prepared,
               const TakenOver& taken, Time when) override;
  void done(std::uint64_t number, Picoseconds waited) override;

  void stored(Line line, std::uint32_t site) override { writers_[line].store = site; }
  void flushed(CoreId core, Line line) override;
  void region_durable(CoreId, std::uint64_t) override {}
  void fence_fulfilled(CoreId, std::uint64_t) override {}

  // Completes the findings when the run is over.
  void finish();
  const HintTotals& totals() const { return totals_; }
  const SiteFindings& findings() const { return findings_; }

 private:
  using Parts = std::vector<HintedLine>;  // Hints that announced a result

  // Finding to which a write's wait, or a hint's failure, is attributed.
  struct Attribution {
    SiteKey key{};
    bool used = false;    // True if the write uses the hint's result: only the wait counts
    Picoseconds share{};  // Cost of the line's share of the hint's call
    Time since{};         // Time of the hint's call
    Time arrived{};       // Time of the write's arrival; kNever: none
  };
  // Sites that may have caused a line's write.
  struct Writers {
    std::uint32_t store = 0, flush = 0;
    bool flushed = false;                               // Flushed since its last write
    std::unordered_map<CoreId, std::size_t> flushes{};  // Number of flushes so far, by core
  };

  const RecordedCalls& thread(CoreId core) const { return threads_[core % threads_.size()]; }
  bool freed(const HintedLine& part) const {
    return thread(part.core).freed.contains({part.hint, part.line});
  }
  const HintedLine* find(const Parts& parts, bool data) const;
  HintCause find_cause(const Parts& parts, const Prepared& prepared, const TakenOver& taken) const;
  const HintedLine& whose(const Parts& parts, HintCause cause) const;
  Attribution take(const HintedLine& part, HintCause cause, bool used);
  Attribution unclaimed(Line line);
  Attribution missing(Line line);
  void fail(const HintedLine& part, HintCause cause);
  void forget_failed(Line line);
  void add(const Attribution& attribution, Picoseconds waited);

  const std::span<const RecordedCalls> threads_;
  const Picoseconds call_;
  std::map<HintedLine, Announcement> announced_;       // Hinted lines without an outcome so far
  std::set<std::pair<Line, HintedLine>> not_started_;  // Hints not started yet, by line
  std::map<PreparedId, Parts> entries_;
  // The last failed hint of each line that has not been written since.
  std::map<Line, Attribution> failed_;
  std::unordered_map<std::uint64_t, Attribution> waiting_;  // By the write's number
  std::map<Line, Writers> writers_;
  HintTotals totals_;
  SiteFindings findings_;
};

}  // namespace pmemsim
