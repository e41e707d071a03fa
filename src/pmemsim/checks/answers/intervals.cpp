#include "pmemsim/checks/answers/intervals.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "pmemsim/checks/images/visible_order.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/sync_operations.hpp"

namespace pmemsim::answers {

namespace {

bool stores_to(trace::PmAddresses& pm, const trace::Operation& operation) {
  using trace::SiteKind;
  const bool stores = operation.kind == SiteKind::kStore ||
                      operation.kind == SiteKind::kCopyStore ||
                      operation.kind == SiteKind::kNonTemporal || trace::writes_atomic(operation);
  return stores && pm.contains(operation.address);
}

}  // namespace

Intervals::Intervals(const trace::TraceFile& trace, const std::vector<CallOrRegion>& operations,
                     std::uint64_t steps) {
  find_steps(trace, operations);
  number_each();
  cut(steps);
}

void Intervals::find_steps(const trace::TraceFile& trace,
                           const std::vector<CallOrRegion>& operations) {
  std::vector<std::vector<TimedOperation>> threads(trace.metadata().threads);
  for (const CallOrRegion& each : operations) {
    threads[each.thread].push_back({.what = each, .number = 0, .first_step = 0, .last_step = 0});
  }
  std::vector<std::size_t> next(threads.size());
  trace::PmAddresses pm(trace.metadata());
  // The step that ended the last wait of the thread's current operation, while the operation has
  // stored nothing to PM; else 0.
  std::vector<std::uint64_t> waited(threads.size());
  VisibleOrder order(trace);
  for (std::uint64_t step = 1; order.next(); ++step) {
    std::vector<TimedOperation>& own = threads[order.thread()];
    std::size_t& at = next[order.thread()];
    while (at < own.size() && own[at].what.last < order.number()) ++at;
    if (at == own.size() || order.number() < own[at].what.first) continue;
    std::uint64_t& end_of_wait = waited[order.thread()];
    if (own[at].first_step == 0) {
      own[at].first_step = step;
      end_of_wait = step;
    }
    if (end_of_wait != 0 && order.waited()) end_of_wait = step;
    if (end_of_wait != 0 && stores_to(pm, order.operation())) {
      own[at].first_step = std::exchange(end_of_wait, 0);
    }
    own[at].last_step = step;
  }
  for (const std::vector<TimedOperation>& own : threads) {
    std::ranges::copy_if(own, std::back_inserter(operations_),
                         [](const TimedOperation& each) { return each.first_step != 0; });
  }
  std::ranges::sort(operations_, {}, &TimedOperation::first_step);
}

void Intervals::number_each() {
  std::map<std::string_view, std::uint64_t> counts;
  for (TimedOperation& each : operations_) each.number = ++counts[each.what.name];
}

// Makes the intervals. An operation is in execution at the crash time of its first step, and no
// longer at that of its last step.
void Intervals::cut(std::uint64_t steps) {
  std::map<std::uint64_t, std::vector<std::size_t>> begin, end;
  std::set<std::uint64_t> cuts{0};
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    begin[operations_[i].first_step].push_back(i);
    end[operations_[i].last_step].push_back(i);
    cuts.insert({operations_[i].first_step, operations_[i].last_step});
  }
  std::set<std::size_t> executing;
  std::size_t ended = 0, begun = 0;
  for (auto cut = cuts.begin(); cut != cuts.end(); ++cut) {
    if (const auto found = begin.find(*cut); found != begin.end()) {
      executing.insert(found->second.begin(), found->second.end());
      begun += found->second.size();
    }
    if (const auto found = end.find(*cut); found != end.end()) {
      for (const std::size_t index : found->second) executing.erase(index);
      ended += found->second.size();
    }
    const auto next = std::next(cut);
    intervals_.push_back({.first = *cut,
                          .last = next == cuts.end() ? steps : *next - 1,
                          .executing = {executing.begin(), executing.end()},
                          .ended = ended,
                          .set_up = begun == 0});
  }
}

std::size_t Intervals::at(std::uint64_t crash_time) const {
  const auto behind = std::ranges::upper_bound(intervals_, crash_time, {}, &Interval::first);
  return static_cast<std::size_t>(behind - intervals_.begin()) - 1;
}

}  // namespace pmemsim::answers
