#include "pmemsim/checks/answers/answer_check.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <set>
#include <utility>

#include "pmemsim/common/mix.hpp"

namespace pmemsim::answers {
namespace {

constexpr std::size_t kMostInSubsets = 6;  // Maximum number of operations

std::uint64_t hash_of_text(const std::string& text) {
  std::uint64_t hash = mix(text.size());
  for (std::size_t at = 0; at < text.size(); at += sizeof(hash)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    hash = mix(hash + word);
  }
  return hash;
}

// Implements rule 2 (answer_check.hpp).
Digest digest_of_said(const Said& said) {
  Digest digest{.ending = said.answer.ending, .status = said.answer.status, .hash = 0, .bytes = 0};
  if (digest.fails()) return digest;
  digest.hash = hash_of_text(said.printed);
  digest.bytes = said.printed.size();
  return digest;
}

}  // namespace

AnswerCheck::AnswerCheck(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
                         std::uint64_t most, const CheckerCommand& reader, std::size_t jobs,
                         const std::vector<CallOrRegion>& operations)
    : history_(trace, rules),
      intervals_(trace, operations, history_.steps()),
      images_(trace, rules, seed, most),
      lossless_image_(history_),
      crashed_(reader, trace.metadata().pm_regions, jobs,
               [this](std::uint64_t number, const CheckerAnswer& answer, const std::string& text) {
                 last_crashed_ = {answer, text};
                 if (number < answers_.size()) {
                   answers_[number].first = digest_of_said(last_crashed_);
                 }
               }),
      whole_(reader, trace.metadata().pm_regions, jobs,
             [this](std::uint64_t number, const CheckerAnswer& answer, const std::string& text) {
               last_whole_ = {answer, text};
               if (queried_[number] != kZeros) {
                 whole_answers_.insert_or_assign(queried_[number], digest_of_said(last_whole_));
               }
             }),
      zeros_(reader, trace.metadata().pm_regions, 1,
             [this](std::uint64_t, const CheckerAnswer& answer, const std::string& text) {
               last_whole_ = {answer, text};
             }) {
  segment_operations_.assign(history_.segments() + 1, SIZE_MAX);
  for (std::uint64_t order = 1; order <= history_.segments(); ++order) {
    segment_operations_[order] = of_segment(order);
  }
}

std::size_t AnswerCheck::of_segment(std::uint64_t order) const {
  const History::Segment& segment = history_.segment(order);
  const Interval interval = in_step(segment.step);
  const auto found = std::ranges::find_if(interval.executing, [&](std::size_t index) {
    return intervals_.operations()[index].what.thread == segment.thread;
  });
  return found == interval.executing.end() ? SIZE_MAX : *found;
}

// ---- Showing -----------------------------------------------------------------------------------

bool AnswerCheck::show_next(const KeepGoing& keep_going) {
  if (!images_.next()) {
    crashed_.finish(keep_going);
    return false;
  }
  answers_.emplace_back(Digest{}, crash_times());
  crashed_.show(images_.image(), images_.changed(), keep_going);
  return true;
}

// Implements rule 1 (answer_check.hpp).
CrashTimes AnswerCheck::crash_times() const {
  const AllowedImages& images = images_.images();
  const PersistencyModel& model = images.model();
  std::uint64_t first = model.newest_guaranteed_step();
  std::uint64_t guaranteed = history_.next_guaranteed(model.newest_order());
  for (const auto& [line, segments] : model.open()) {
    const Presence present = images.present(Line{line}, segments);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (present[i] || segments[i].guaranteed) {
        first = std::max(first, segments[i].step);
      } else {
        guaranteed = std::min(guaranteed, history_.segment(segments[i].order).guaranteed);
      }
    }
  }
  return {first, guaranteed == History::kNever ? history_.steps() : guaranteed - 1};
}

std::vector<std::vector<std::uint64_t>> AnswerCheck::lost(std::uint64_t crash_time) const {
  const AllowedImages& images = images_.images();
  std::map<std::uint64_t, std::vector<std::uint64_t>> lines;
  for (const Line line : images.lost_lines()) {
    const PersistencyModel::Segments& segments = images.model().open().at(line.number);
    const Presence present = images.present(line, segments);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (!present[i] && !segments[i].guaranteed) lines[line.number].push_back(segments[i].order);
    }
  }
  const std::uint64_t later = history_.order_at(crash_time);
  for (std::uint64_t order = images.model().newest_order() + 1; order <= later; ++order) {
    lines[Line::of(history_.segment(order).address).number].push_back(order);
  }
  std::vector<std::vector<std::uint64_t>> lost;
  for (auto& [number, orders] : lines) lost.push_back(std::move(orders));
  std::ranges::sort(lost, {}, [](const auto& orders) { return orders.back(); });
  return lost;
}

std::uint64_t AnswerCheck::newest() const { return history_.order_at(crash_times().first); }

// ---- Correct answers ---------------------------------------------------------------------------

std::vector<std::uint64_t> AnswerCheck::find_wrong(const KeepGoing& keep_going) {
  crashed_.finish(keep_going);
  ask_first(keep_going);
  std::vector<std::uint64_t> wrong;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const Verdict verdict = check_image(answers_[i].first, answers_[i].second, keep_going);
    if (!verdict.known) ++unchecked_;
    if (!verdict.right) wrong.push_back(i + 1);
  }
  return wrong;
}

// Shows the images whose answers are needed in any case to many readers at once.
void AnswerCheck::ask_first(const KeepGoing& keep_going) {
  std::set<std::uint64_t> orders{0, history_.segments()};
  for (const auto& [digest, crash_times] : answers_) {
    const Interval interval = crash_times.in_step()
                                  ? in_step(crash_times.first)
                                  : intervals_.list()[intervals_.at(crash_times.first)];
    const auto [first, last] = span(interval);
    orders.insert({first, last});
  }
  for (const std::uint64_t order : orders) {
    if (whole_answers_.contains(order)) continue;
    queried_.push_back(order);
    const Image& image = lossless_image_.go_to(order);
    whole_.show(image, lossless_image_.changed(), keep_going);
    keep_going();
  }
  whole_.finish(keep_going);
}

bool AnswerCheck::answers_differ() const {
  return std::ranges::any_of(whole_answers_, [&](const auto& entry) {
    return entry.second != whole_answers_.begin()->second;
  });
}

AnswerCheck::Verdict AnswerCheck::check_image(const Digest& digest, CrashTimes crash_times,
                                              const KeepGoing& keep_going) {
  Verdict verdict;
  const auto is_wrong = [&](const Interval& interval, std::uint64_t crash_time) {
    verdict.right = is_right(digest, interval, crash_time, verdict.known, keep_going);
    if (!verdict.right) {
      verdict.interval = interval;
      verdict.crash_time = crash_time;
    }
    return !verdict.right;
  };
  if (crash_times.in_step()) {
    is_wrong(in_step(crash_times.first), crash_times.first);
    return verdict;
  }
  // Start of the last interval without operations that was checked. Further such intervals have the
  // same correct answers if nothing was stored since.
  std::uint64_t seen = History::kNever;
  for (std::size_t i = intervals_.at(crash_times.first); i < intervals_.list().size(); ++i) {
    const Interval& interval = intervals_.list()[i];
    if (interval.first > crash_times.last) break;
    const std::uint64_t crash_time = std::max(crash_times.first, interval.first);
    const bool idle = interval.executing.empty();
    if (idle && since(interval) == seen) continue;
    if (is_wrong(interval, crash_time)) break;
    if (idle) seen = since(interval);
  }
  return verdict;
}

// Returns the interval of the operations that contain the step.
Interval AnswerCheck::in_step(std::uint64_t step) const {
  Interval interval = intervals_.list()[intervals_.at(step - 1)];
  const std::vector<TimedOperation>& operations = intervals_.operations();
  auto next = std::ranges::lower_bound(operations, step, {}, &TimedOperation::first_step);
  for (; next != operations.end() && next->first_step == step; ++next) {
    interval.executing.push_back(static_cast<std::size_t>(next - operations.begin()));
    interval.set_up = false;
  }
  return interval;
}

// Returns the orders right before the interval's operations and after them.
std::pair<std::uint64_t, std::uint64_t> AnswerCheck::span(const Interval& interval) const {
  if (interval.executing.empty()) return {since(interval), since(interval)};
  std::uint64_t first = UINT64_MAX, last = 0;
  for (const std::size_t index : interval.executing) {
    first = std::min(first, intervals_.operations()[index].first_step);
    last = std::max(last, intervals_.operations()[index].last_step);
  }
  return {history_.order_at(first - 1), history_.order_at(last)};
}

// Rules 2 to 5 of intervals.hpp.
bool AnswerCheck::is_right(const Digest& digest, const Interval& interval, std::uint64_t crash_time,
                           bool& known, const KeepGoing& keep_going) {
  const auto [first, last] = span(interval);
  if (digest_of(first, keep_going) == digest || digest_of(last, keep_going) == digest) return true;
  if (interval.executing.empty()) {
    if (interval.set_up && digest_of(kZeros, keep_going) == digest) return true;
    return is_among(digest, first, history_.order_at(crash_time), known, keep_going);
  }
  if (executes_alone(interval)) return false;
  return is_some_subset(digest, interval, crash_time, keep_going) ||
         is_among(digest, first, last, known, keep_going);
}

bool AnswerCheck::is_among(const Digest& digest, std::uint64_t first, std::uint64_t last,
                           bool& known, const KeepGoing& keep_going) {
  if (last - first >= kMostStates) {
    known = false;
    return true;
  }
  for (std::uint64_t order = first; order <= last; ++order) {
    if (digest_of(order, keep_going) == digest) return true;
  }
  return false;
}

// True if there is one operation, and only its own stores happen from its start to its end.
bool AnswerCheck::executes_alone(const Interval& interval) const {
  if (interval.executing.size() != 1) return false;
  const auto [first, last] = span(interval);
  for (std::uint64_t order = first + 1; order <= last; ++order) {
    if (segment_operations_[order] != interval.executing.front()) return false;
  }
  return true;
}

bool AnswerCheck::is_some_subset(const Digest& digest, const Interval& interval,
                                 std::uint64_t crash_time, const KeepGoing& keep_going) {
  const std::size_t count = std::min(interval.executing.size(), kMostInSubsets);
  const auto [first, last] = span(interval);
  for (std::uint64_t set = 0; set < std::uint64_t{1} << count; ++set) {
    std::vector<std::uint64_t> there;
    for (std::uint64_t order = first + 1; order <= last; ++order) {
      const auto own = std::ranges::find(interval.executing, segment_operations_[order]);
      const auto index = static_cast<std::uint64_t>(own - interval.executing.begin());
      const bool is_there = own == interval.executing.end()
                                ? history_.segment(order).step <= crash_time
                                : index >= count || (set >> index & 1) != 0;
      if (is_there) there.push_back(order);
    }
    std::vector<std::uint64_t> key{first};
    key.insert(key.end(), there.begin(), there.end());
    auto found = subset_answers_.find(key);
    if (found == subset_answers_.end()) {
      lossless_image_.go_to(first);
      const Image& image = lossless_image_.with(there);
      queried_.push_back(kZeros);  // Not an order
      whole_.check_image(image, lossless_image_.changed(), keep_going);
      found = subset_answers_.emplace(std::move(key), digest_of_said(last_whole_)).first;
    }
    if (found->second == digest) return true;
  }
  return false;
}

Digest AnswerCheck::digest_of(std::uint64_t order, const KeepGoing& keep_going) {
  const auto found = whole_answers_.find(order);
  if (found != whole_answers_.end()) return found->second;
  return digest_of_said(whole(order, keep_going));
}

Said AnswerCheck::whole(std::uint64_t order, const KeepGoing& keep_going) {
  if (order == kZeros) {
    zeros_.check_image(Image(), {}, keep_going);
    return last_whole_;
  }
  queried_.push_back(order);
  const Image& image = lossless_image_.go_to(order);
  whole_.check_image(image, lossless_image_.changed(), keep_going);
  return last_whole_;
}

std::optional<AnswerCheck::Wrong> AnswerCheck::check_image(const KeepGoing& keep_going) {
  crashed_.check_image(images_.image(), images_.changed(), keep_going);
  const Said got = last_crashed_;
  const Verdict verdict = check_image(digest_of_said(got), crash_times(), keep_going);
  if (verdict.right) return std::nullopt;
  Wrong wrong{
      .got = got, .interval = verdict.interval, .crash_time = verdict.crash_time, .allowed = {}};
  const auto [first, last] = span(verdict.interval);
  if (verdict.interval.set_up) wrong.allowed.push_back(kZeros);
  wrong.allowed.push_back(first);
  if (last != first) wrong.allowed.push_back(last);
  return wrong;
}

}  // namespace pmemsim::answers
