#include "pmemsim/checks/images/log_facts.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "pmemsim/checks/images/visible_order.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim::check {

using trace::Operation;
using trace::SiteKind;

namespace {

bool completes_flushes(const Operation& operation) {
  return trace::fences_stores(operation) || (operation.site_flags & trace::kSiteFullFence) != 0;
}

// Lines with stores that may not be persistent (rule 1).
class DirtyLines {
 public:
  explicit DirtyLines(std::uint32_t threads) : pending_(threads) {}

  bool contains(Line line) const {
    const State* const state = lines_.find(line);
    return state != nullptr && state->dirty;
  }
  void store(Line line) { state(line) = {.dirty = true, .flusher = kNobody}; }
  void store_past_caches(Line line, std::uint32_t thread, std::uint64_t number) {
    const bool stored_before = contains(line) && state(line).flusher == kNobody;
    state(line) = {.dirty = true, .flusher = stored_before ? kNobody : thread};
    pending_[thread].emplace_back(line, number);
  }
  void flush(Line line, std::uint32_t thread, std::uint64_t number) {
    if (contains(line)) state(line).flusher = thread;
    pending_[thread].emplace_back(line, number);
  }
  // Returns the number of the oldest flush that the fence completes; UINT64_MAX: none.
  std::uint64_t fence(std::uint32_t thread) {
    std::uint64_t oldest = UINT64_MAX;
    for (const auto& [line, number] : pending_[thread]) {
      oldest = std::min(oldest, number);
      State& flushed = state(line);
      if (flushed.flusher == thread) flushed = {.dirty = false, .flusher = kNobody};
    }
    pending_[thread].clear();
    return oldest;
  }

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  struct State {
    bool dirty = false;
    std::uint32_t flusher = kNobody;  // Thread whose next fence makes the line persistent
  };

  State& state(Line line) {
    State* const found = lines_.find(line);
    return found != nullptr ? *found : lines_.insert(line);
  }

  LineTable<State> lines_;
  std::vector<std::vector<std::pair<Line, std::uint64_t>>> pending_;
};

class Reader {
 public:
  Reader(const trace::TraceFile& trace, const std::vector<LoggedRegion>& regions,
         const trace::LeftOut& left_out)
      : regions_(regions),
        pm_(trace.metadata()),
        order_(trace, {.left_out = left_out}),
        dirty_(trace.metadata().threads),
        threads_(trace.metadata().threads) {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      threads_[regions[i].thread].regions.push_back(i);
      RegionFacts& facts = facts_.emplace_back();
      for (const LogExecution& execution : regions[i].log) {
        facts.lines.emplace_back(execution.logged.size());
        facts.own_fences.push_back(true);
      }
    }
  }

  std::vector<RegionFacts> read() {
    while (order_.next()) {
      go_on();
      execute(order_.operation());
    }
    return std::move(facts_);
  }

 private:
  struct ThreadState {
    std::vector<std::size_t> regions{};
    std::size_t current = 0;  // Index in `regions`
    std::uint32_t begun = 0;  // Number of its executions that have begun
    std::size_t logged = 0;   // Number of lines that the last one of them has logged
  };
  struct Open {
    std::uint32_t thread;
    LineFacts* facts;
  };

  const LoggedRegion* region(const ThreadState& thread) const {
    return thread.current < thread.regions.size() ? &regions_[thread.regions[thread.current]]
                                                  : nullptr;
  }

  // Begins and ends regions and executions up to the thread's current operation.
  void go_on() {
    ThreadState& thread = threads_[order_.thread()];
    const LoggedRegion* now = region(thread);
    while (now != nullptr && now->operations.last < order_.number()) {
      close(*now, thread);
      now = region(thread);
    }
    while (now != nullptr && thread.begun < now->log.size() &&
           now->log[thread.begun].operations.first < order_.number()) {
      ++thread.begun;
      thread.logged = 0;
    }
  }

  void close(const LoggedRegion& region, ThreadState& thread) {
    for (const LogExecution& execution : region.log) {
      for (const LoggedLine& logged : execution.logged) {
        const auto found = open_.find(logged.line.number);
        if (found == open_.end()) continue;
        std::erase_if(found->second,
                      [&](const Open& open) { return open.thread == order_.thread(); });
        if (found->second.empty()) open_.erase(found);
      }
    }
    ++thread.current;
    thread.begun = 0;
  }

  void execute(const Operation& operation) {
    if (completes_flushes(operation)) fence();
    if (!pm_.contains(operation.address)) return;
    if (operation.kind == SiteKind::kCopyLoad) return copy(Line::of(operation.address));
    if (operation.kind == SiteKind::kFlush) {
      return dirty_.flush(Line::of(operation.address), order_.thread(), order_.number());
    }
    if (trace::stores_something(operation)) store(operation);
  }

  // Notes that a line is logged, at the first operation that copies it.
  void copy(Line line) {
    ThreadState& thread = threads_[order_.thread()];
    const LoggedRegion* const now = region(thread);
    if (now == nullptr || thread.begun == 0) return;
    const LogExecution& execution = now->log[thread.begun - 1];
    if (thread.logged == execution.logged.size() ||
        execution.logged[thread.logged].copies.front() != order_.number()) {
      return;
    }
    LineFacts& facts =
        facts_[thread.regions[thread.current]].lines[thread.begun - 1][thread.logged++];
    facts.clean = !dirty_.contains(line);
    facts.allocated = std::ranges::any_of(now->allocated, [&](const Allocation& each) {
      return each.number < order_.number() && each.first.number <= line.number &&
             line.number <= each.last.number;
    });
    open_[line.number].push_back({order_.thread(), &facts});
  }

  void store(const Operation& operation) {
    const std::uint64_t last = operation.address + operation.size - 1;
    for (Line line = Line::of(operation.address); line.address() <= last; ++line.number) {
      if (operation.kind == SiteKind::kNonTemporal) {
        dirty_.store_past_caches(line, order_.thread(), order_.number());
      } else {
        dirty_.store(line);
      }
      const auto found = open_.find(line.number);
      if (found == open_.end()) continue;
      for (const Open& open : found->second) {
        open.facts->stored_after = std::min(open.facts->stored_after, threads_[open.thread].begun);
      }
    }
    count(operation);
  }

  // Counts the stores of a region, apart from its log.
  void count(const Operation& operation) {
    const ThreadState& thread = threads_[order_.thread()];
    const LoggedRegion* const now = region(thread);
    const std::uint64_t number = order_.number();
    if (now == nullptr || number < now->operations.first) return;
    const auto within = [number](const OperationRange& range) {
      return range.first <= number && number <= range.last;
    };
    if (within(now->commit)) return;
    if (thread.begun > 0 && within(now->log[thread.begun - 1].operations)) return;
    RegionFacts& facts = facts_[thread.regions[thread.current]];
    ++facts.stores;
    facts.word = operation.address / kWordBytes;
    facts.within_word = operation.kind != SiteKind::kNonTemporal &&
                        operation.kind != SiteKind::kCopyStore &&
                        (operation.address + operation.size - 1) / kWordBytes == facts.word;
  }

  // Rule 3.
  void fence() {
    const std::uint64_t oldest = dirty_.fence(order_.thread()), number = order_.number();
    const ThreadState& thread = threads_[order_.thread()];
    const LoggedRegion* const now = region(thread);
    if (now == nullptr) return;
    RegionFacts& facts = facts_[thread.regions[thread.current]];
    if (number == now->data_fence) {
      facts.own_data_fence = oldest >= now->data.first;
    } else if (thread.begun > 0 && number == now->log[thread.begun - 1].fence) {
      facts.own_fences[thread.begun - 1] = oldest >= now->log[thread.begun - 1].operations.first;
    }
  }

  const std::vector<LoggedRegion>& regions_;
  trace::PmAddresses pm_;
  VisibleOrder order_;
  DirtyLines dirty_;
  std::vector<ThreadState> threads_;
  std::unordered_map<std::uint64_t, std::vector<Open>> open_;  // Logged lines of open regions
  std::vector<RegionFacts> facts_;
};

}  // namespace

std::vector<RegionFacts> log_facts(const trace::TraceFile& trace,
                                   const std::vector<LoggedRegion>& regions,
                                   const trace::LeftOut& left_out) {
  return Reader(trace, regions, left_out).read();
}

}  // namespace pmemsim::check
