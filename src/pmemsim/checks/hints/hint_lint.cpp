#include "pmemsim/checks/hints/hint_lint.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "pmemsim/trace/format.hpp"

namespace pmemsim {
namespace {

HintCause cause_of(HintLoss where) {
  switch (where) {
    case HintLoss::kRequestQueue:
      return HintCause::kRequestQueue;
    case HintLoss::kOperationQueue:
      return HintCause::kOperationQueue;
    case HintLoss::kResultBuffer:
      break;
  }
  return HintCause::kResultBuffer;
}

HintCause cause_of(Fate fate) {
  switch (fate) {
    case Fate::kTooOld:
      return HintCause::kTooOld;
    case Fate::kMetadataChanged:
      return HintCause::kCounter;
    default:
      return HintCause::kNeverWritten;
  }
}

// Removes the bits in which instances of a recording differ: no recorded address has them.
std::uint64_t recorded_line(Line line) {
  return Line::of(line.address() % trace::kMaxAddress).number;
}

}  // namespace

// ---- Hints

void HintLint::announced(const Announcement& announcement) {
  announced_.insert_or_assign(announcement.which, announcement);
  if (announcement.line) not_started_.insert({*announcement.line, announcement.which});
  ++totals_.hinted_lines;
}

void HintLint::merged(const HintedLine& part) {
  const auto announced = announced_.extract(part);
  if (!announced.empty()) not_started_.erase({*announced.mapped().line, part});
}

// Does nothing if the line's write has arrived before: rule 3 applies to it.
void HintLint::started(const HintedLine& part, PreparedId id) {
  const auto announced = announced_.find(part);
  if (announced == announced_.end()) return;
  if (announced->second.line) not_started_.erase({*announced->second.line, part});
  entries_[id].push_back(part);
}

void HintLint::lost(const HintedLine& part, HintLoss where) { fail(part, cause_of(where)); }

void HintLint::outcome(const Outcome& outcome) {
  const auto entry = entries_.extract(outcome.id);
  // Claimed results were handled in arrived().
  if (entry.empty() || outcome.fate == Fate::kUsed || outcome.fate == Fate::kUsedInPart) return;
  const bool without_line = find(entry.mapped(), false) == nullptr;
  for (const HintedLine& part : entry.mapped()) {
    fail(part, without_line ? HintCause::kDataOnly : cause_of(outcome.fate));
  }
}

// Rules 3 and 6. A hint without a line can't be attributed to a later write.
void HintLint::fail(const HintedLine& part, HintCause cause) {
  const auto announced = announced_.find(part);
  if (announced == announced_.end()) return;
  const std::optional<Line> line = announced->second.line;
  const Attribution attribution = take(part, freed(part) ? HintCause::kFreed : cause, false);
  if (!line || attribution.key.cause == HintCause::kFreed) return add(attribution, {});
  forget_failed(*line);
  failed_[*line] = attribution;
}

void HintLint::forget_failed(Line line) {
  if (const auto failed = failed_.extract(line); !failed.empty()) add(failed.mapped(), {});
}

// Implements rule 5 (hint_lint.hpp).
HintLint::Attribution HintLint::take(const HintedLine& part, HintCause cause, bool used) {
  const Announcement announcement = announced_.extract(part).mapped();
  if (announcement.line) not_started_.erase({*announcement.line, part});
  const RecordedCalls::Hint& hint = thread(part.core).hints.at(part.hint);
  return {.key = {cause, hint.site, 0, hint.of_library},
          .used = used,
          .share = used ? Picoseconds{} : Picoseconds{call_.count / announcement.lines},
          .since = announcement.when,
          .arrived = kNever};
}

// ---- Writes

void HintLint::flushed(CoreId core, Line line) {
  const auto sites = thread(core).flushes.find(recorded_line(line));
  if (sites == thread(core).flushes.end()) return;
  Writers& writers = writers_[line];
  const std::size_t number = writers.flushes[core]++;
  writers.flush = sites->second[std::min(number, sites->second.size() - 1)];
  writers.flushed = true;
}

void HintLint::arrived(std::uint64_t number, const Write& write, const Prepared& prepared,
                       const TakenOver& taken, Time when) {
  if (write.kind != WriteKind::kData) return;
  ++totals_.writes;
  Attribution attribution;
  if (const auto entry = entries_.extract(prepared.id); !entry.empty()) {
    forget_failed(write.line);
    const HintCause cause = find_cause(entry.mapped(), prepared, taken);
    const HintedLine part = whose(entry.mapped(), cause);
    if (cause == HintCause::kInTime || !freed(part)) {
      attribution = take(part, cause, true);
    } else {
      add(take(part, HintCause::kFreed, false), {});
      attribution = missing(write.line);
    }
    for (const HintedLine& other : entry.mapped()) announced_.erase(other);
  } else {
    attribution = unclaimed(write.line);
  }
  attribution.arrived = when;
  writers_[write.line].flushed = false;
  waiting_[number] = attribution;
}

// Implements rule 3 (hint_lint.hpp).
HintLint::Attribution HintLint::unclaimed(Line line) {
  const auto behind = not_started_.lower_bound({{line.number + 1}, {}});
  if (behind != not_started_.begin() && std::prev(behind)->first == line) {
    const HintedLine part = std::prev(behind)->second;
    forget_failed(line);
    return take(part, announced_.at(part).buffered ? HintCause::kNotStarted : HintCause::kTooShort,
                false);
  }
  if (const auto failed = failed_.extract(line); !failed.empty()) return failed.mapped();
  return missing(line);
}

// Implements rule 4 (hint_lint.hpp).
HintLint::Attribution HintLint::missing(Line line) {
  const Writers& writers = writers_[line];
  return {.key = {writers.flushed ? HintCause::kMissingAtFlush : HintCause::kMissingAtStore,
                  writers.flushed ? writers.flush : writers.store, writers.store, false},
          .used = true,
          .arrived = kNever};
}

// Implements rule 2 (hint_lint.hpp).
HintCause HintLint::find_cause(const Parts& parts, const Prepared& prepared,
                               const TakenOver& taken) const {
  if (!prepared.data)
    return find(parts, true) != nullptr ? HintCause::kData : HintCause::kAddressOnly;
  if (taken.duplicate) return HintCause::kDuplicate;
  if (taken.unfinished) return HintCause::kTooShort;
  return taken.outdated ? HintCause::kTree : HintCause::kInTime;
}

const HintedLine& HintLint::whose(const Parts& parts, HintCause cause) const {
  if (cause == HintCause::kTooShort) {
    return *std::ranges::max_element(
        parts, {}, [&](const HintedLine& part) { return announced_.at(part).when; });
  }
  const HintedLine* const found = find(parts, cause == HintCause::kData);
  return found != nullptr ? *found : parts.front();
}

// Returns the hint that has the data, or the one that has the address.
const HintedLine* HintLint::find(const Parts& parts, bool data) const {
  const auto found = std::ranges::find_if(parts, [&](const HintedLine& part) {
    const Announcement& announcement = announced_.at(part);
    return data ? announcement.data : announcement.line.has_value();
  });
  return found == parts.end() ? nullptr : &*found;
}

void HintLint::done(std::uint64_t number, Picoseconds waited) {
  const auto write = waiting_.extract(number);
  if (write.empty()) return;
  totals_.waited += waited;
  const Attribution& attribution = write.mapped();
  totals_.in_time +=
      attribution.key.cause == HintCause::kInTime || attribution.key.cause == HintCause::kTree;
  if (!attribution.used || waited > Picoseconds{}) add(attribution, waited);
}

// ---- Findings

void HintLint::add(const Attribution& attribution, Picoseconds waited) {
  SiteFinding& finding = findings_[attribution.key];
  ++finding.count;
  finding.lost += attribution.share + waited;
  if (attribution.arrived == kNever) return;
  ++finding.writes;
  finding.waited += waited;
  finding.distance += attribution.arrived - attribution.since;
}

void HintLint::finish() {
  while (!announced_.empty()) {
    const HintedLine part = announced_.begin()->first;  // A copy: the map's entry is removed
    fail(part, HintCause::kNotStarted);
  }
  while (!failed_.empty()) forget_failed(failed_.begin()->first);
}

}  // namespace pmemsim
