#include "pmemsim/checks/images/needless_logs.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "pmemsim/checks/images/log_facts.hpp"

namespace pmemsim::check {
namespace {

constexpr std::uint32_t kNever = LineFacts::kNever;
constexpr std::uint32_t kWholeCall = 0;

// A call, or one of its ranges, that is removed.
struct Unit {
  std::uint32_t call, range;
  auto operator<=>(const Unit&) const = default;
};
using Units = std::set<Unit>;

// The execution of a region that logs each line first, without some units. The number of executions
// means the region's end.
class LogOf {
 public:
  LogOf(const LoggedRegion& region, const Units& removed) : counts_(region.log.size() + 1) {
    std::vector<Line> later;  // The library adds them to the next execution (logged_regions.hpp)
    for (std::uint32_t i = 0; i < region.log.size(); ++i) {
      const LogExecution& execution = region.log[i];
      later.insert(later.end(), execution.of_library.begin(), execution.of_library.end());
      if (removed.contains({execution.call, kWholeCall})) continue;
      for (std::uint32_t k = 0; k < execution.ranges.size(); ++k) {
        if (removed.contains({execution.call, k + 1})) continue;
        for (const Line line : execution.ranges[k]) add(line, i);
      }
      for (const Line line : later) add(line, i);
      later.clear();
    }
    for (const Line line : later) add(line, end());
  }

  std::uint32_t execution_of(Line line) const {
    const auto found = first_.find(line.number);
    return found == first_.end() ? kNever : found->second;
  }
  std::uint32_t end() const { return static_cast<std::uint32_t>(counts_.size()) - 1; }
  // Number of the lines that the execution logs.
  std::size_t lines(std::uint32_t execution) const { return counts_[execution]; }
  std::size_t lines() const { return first_.size(); }

 private:
  void add(Line line, std::uint32_t execution) {
    if (first_.try_emplace(line.number, execution).second) ++counts_[execution];
  }

  std::unordered_map<std::uint64_t, std::uint32_t> first_;  // By line
  std::vector<std::size_t> counts_;                         // By execution
};

// Rules 1 and 2, for a line that the execution `before` logs, and `now` without some units.
bool is_needless(const LineFacts& line, std::uint32_t now) {
  if (line.allocated) return true;
  return line.clean && (now == kNever ? line.stored_after == kNever : line.stored_after > now);
}

// True if the region's log is needed as recorded only as far as it is left.
bool does_without(const LoggedRegion& region, const RegionFacts& facts, const Units& removed) {
  const LogOf log(region, removed);
  for (std::uint32_t i = 0; i < region.log.size(); ++i) {
    const LogExecution& execution = region.log[i];
    for (std::size_t k = 0; k < execution.logged.size(); ++k) {
      const Line line = execution.logged[k].line;
      const std::uint32_t now = log.execution_of(line);
      // The library's stores move with the log of their lines.
      const bool moves = now != kNever && std::ranges::find(execution.of_library, line) !=
                                              execution.of_library.end();
      if (now != i && !moves && !is_needless(facts.lines[i][k], now)) return false;
    }
    const bool loses_fence = !execution.logged.empty() && log.lines(i) == 0;
    if (loses_fence && (!execution.known || !facts.own_fences[i])) return false;
    if (execution.logged.empty() && log.lines(i) > 0) return false;  // Rule 4
  }
  if (log.lines() > 0) return true;
  return facts.own_data_fence || !region.allocated.empty();
}

// True if a flush and a fence of its word do instead of the region's log.
bool stores_one_word(const LoggedRegion& region, const RegionFacts& facts) {
  if (facts.stores != 1 || !facts.within_word || !region.allocated.empty()) return false;
  std::size_t lines = 0;
  for (std::size_t i = 0; i < region.log.size(); ++i) {
    const LogExecution& execution = region.log[i];
    lines += execution.logged.size();
    if (execution.logged.empty()) continue;
    const bool own = execution.known && facts.own_fences[i] && execution.of_library.empty();
    const bool of_word =
        execution.logged.front().line.number == facts.word * kWordBytes / kLineBytes;
    if (!own || !of_word || !facts.lines[i].front().clean) return false;
  }
  return lines == 1;
}

// Numbers of operations by thread.
class Operations {
 public:
  explicit Operations(std::uint32_t threads) : numbers_(threads) {}

  void add(std::uint32_t thread, std::uint64_t number) { numbers_[thread].push_back(number); }
  void add(std::uint32_t thread, const OperationRange& range,
           const std::set<std::uint64_t>& apart_from = {}) {
    if (range.empty()) return;
    for (std::uint64_t number = range.first; number <= range.last; ++number) {
      if (!apart_from.contains(number)) add(thread, number);
    }
  }
  trace::LeftOut take() {
    for (std::vector<std::uint64_t>& numbers : numbers_) {
      std::ranges::sort(numbers);
      numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
    }
    return std::make_shared<const std::vector<std::vector<std::uint64_t>>>(std::move(numbers_));
  }

 private:
  std::vector<std::vector<std::uint64_t>> numbers_;
};

// Adds the operations that the region doesn't execute without some units. The copy of a line that a
// later call logs instead counts as that call's.
void add_needless(Operations& operations, const LoggedRegion& region, const Units& removed) {
  const LogOf log(region, removed);
  std::set<std::uint64_t> not_flushed, flushed;
  bool fences_at_end = log.lines(log.end()) > 0;  // An omitted fence counts as that of the end
  for (auto i = static_cast<std::uint32_t>(region.log.size()); i-- > 0;) {
    const LogExecution& execution = region.log[i];
    std::set<std::uint64_t> kept;
    for (const LoggedLine& logged : execution.logged) {
      const std::uint32_t now = log.execution_of(logged.line);
      if (now == kNever) {
        not_flushed.insert(logged.line.number);
        for (const std::uint64_t number : logged.copies) operations.add(region.thread, number);
      } else {
        kept.insert(logged.copies.begin(), logged.copies.end());
      }
    }
    if (fences_at_end && !execution.logged.empty() && log.lines(i) == 0) {
      kept.insert(execution.fence);
      fences_at_end = false;
    }
    const bool asked = removed.contains({execution.call, kWholeCall}) || !execution.logged.empty();
    if (log.lines(i) == 0 && asked) operations.add(region.thread, execution.operations, kept);
  }
  if (log.lines() == 0) operations.add(region.thread, region.commit);
  if (log.lines() == 0 && region.allocated.empty()) operations.add(region.thread, region.data);
  for (const auto& [number, line] : region.data_flushes) {
    const bool allocated = std::ranges::any_of(region.allocated, [&](const Allocation& each) {
      return each.first.number <= line.number && line.number <= each.last.number;
    });
    if (!not_flushed.contains(line.number)) continue;
    // A line that is allocated and logged is flushed twice.
    if (allocated && flushed.insert(line.number).second) continue;
    operations.add(region.thread, number);
  }
}

class Search {
 public:
  Search(const trace::TraceFile& trace, const trace::LeftOut& left_out)
      : threads_(trace.metadata().threads),
        all_(logged_regions(trace)),
        facts_(log_facts(trace, all_.regions, left_out)),
        regions_of_(all_.calls.size()) {
    for (std::size_t i = 0; i < all_.regions.size(); ++i) {
      for (const LogExecution& execution : all_.regions[i].log) {
        if (execution.call == LogExecution::kLibrary) continue;
        std::vector<std::size_t>& regions = regions_of_[execution.call];
        if (regions.empty() || regions.back() != i) regions.push_back(i);
      }
    }
  }

  // Calls come before ranges, since a call that is not executed saves a fence.
  NeedlessLogs find() {
    const auto calls = static_cast<std::uint32_t>(all_.calls.size());
    NeedlessLogs found;
    for (std::uint32_t call = calls; call-- > 0;) {
      if (!removes({call, kWholeCall}) && is_replaceable(call)) {
        found.each.push_back(replaceable(call));
        replaceable_.insert(call);
      }
    }
    for (std::uint32_t call = calls; call-- > 0;) {
      if (replaceable_.contains(call) || removed_.contains({call, kWholeCall})) continue;
      for (std::uint32_t range = ranges_of(call); range > 0; --range) removes({call, range});
    }
    Operations together(threads_);
    for (const LoggedRegion& region : all_.regions) add_needless(together, region, removed_);
    found.together = together.take();
    for (const Unit& unit : removed_) found.each.push_back(described(unit));
    return found;
  }

 private:
  // Returns the number of the call's ranges; 0 if it differs between executions, or if it is 1.
  std::uint32_t ranges_of(std::uint32_t call) const {
    std::size_t count = 0;
    for (const std::size_t number : regions_of_[call]) {
      for (const LogExecution& execution : all_.regions[number].log) {
        if (execution.call != call) continue;
        if (count != 0 && count != execution.ranges.size()) return 0;
        count = execution.ranges.size();
      }
    }
    return count > 1 ? static_cast<std::uint32_t>(count) : 0;
  }

  // Removes the unit, too, if it is needless.
  bool removes(Unit unit) {
    removed_.insert(unit);
    const bool needless = std::ranges::all_of(regions_of_[unit.call], [&](std::size_t number) {
      return does_without(all_.regions[number], facts_[number], removed_);
    });
    if (!needless) removed_.erase(unit);
    return needless;
  }

  bool is_replaceable(std::uint32_t call) const {
    return std::ranges::all_of(regions_of_[call], [&](std::size_t number) {
      return stores_one_word(all_.regions[number], facts_[number]);
    });
  }

  NeedlessLog replaceable(std::uint32_t call) const {
    NeedlessLog log{.call = all_.calls[call], .reasons = {}, .one_word = true, .operations = {}};
    Operations operations(threads_);
    for (const std::size_t number : regions_of_[call]) {
      const LoggedRegion& region = all_.regions[number];
      for (const LogExecution& execution : region.log) {
        log.executed += execution.call == call;
        operations.add(region.thread, execution.operations);
      }
      operations.add(region.thread, region.commit);
    }
    log.operations = operations.take();
    return log;
  }

  NeedlessLog described(Unit unit) const {
    NeedlessLog log{
        .call = all_.calls[unit.call], .range = unit.range, .reasons = {}, .operations = {}};
    Operations operations(threads_);
    std::set<std::string> reasons;
    for (const std::size_t number : regions_of_[unit.call]) {
      const LoggedRegion& region = all_.regions[number];
      add_needless(operations, region, {unit});
      const LogOf left(region, removed_);
      for (std::uint32_t i = 0; i < region.log.size(); ++i) {
        if (region.log[i].call != unit.call) continue;
        ++log.executed;
        for (std::uint32_t k = 0; k < region.log[i].ranges.size(); ++k) {
          if (unit.range != kWholeCall && unit.range != k + 1) continue;
          for (const Line line : region.log[i].ranges[k]) {
            reasons.insert(reason(number, i, line, left.execution_of(line)));
          }
        }
      }
    }
    log.reasons.assign(reasons.begin(), reasons.end());
    log.operations = operations.take();
    return log;
  }

  // Says why an execution needn't declare the line, which the execution `now` logs.
  std::string reason(std::size_t number, std::uint32_t execution, Line line,
                     std::uint32_t now) const {
    if (now == kNever)
      return is_allocated(number, line) ? "allocated in the region" : "not stored to";
    return now > execution ? "logged later" : "logged before";
  }

  bool is_allocated(std::size_t number, Line line) const {
    const LoggedRegion& region = all_.regions[number];
    for (std::size_t i = 0; i < region.log.size(); ++i) {
      for (std::size_t k = 0; k < region.log[i].logged.size(); ++k) {
        if (region.log[i].logged[k].line == line) return facts_[number].lines[i][k].allocated;
      }
    }
    return false;
  }

  const std::uint32_t threads_;
  const LoggedRegions all_;
  const std::vector<RegionFacts> facts_;
  std::vector<std::vector<std::size_t>> regions_of_;  // By call
  Units removed_;
  std::set<std::uint32_t> replaceable_;
};

}  // namespace

NeedlessLogs needless_logs(const trace::TraceFile& trace, const trace::LeftOut& left_out) {
  return Search(trace, left_out).find();
}

}  // namespace pmemsim::check
