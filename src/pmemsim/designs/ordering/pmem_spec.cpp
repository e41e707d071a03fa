#include "pmemsim/designs/ordering/pmem_spec.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/sentences.hpp"

namespace pmemsim {
namespace {

// Rule 6 (pmem_spec.hpp). A store waits before the path at most as long as `wait_before_path`.
Picoseconds speculation_window(const PmemSpecParameters& parameters, Picoseconds wait_before_path,
                               std::size_t cores) {
  if (parameters.faults.window) return {};
  if (parameters.window > Picoseconds{0}) return parameters.window;
  return (parameters.path_latency + wait_before_path) * static_cast<std::int64_t>(cores);
}

}  // namespace

PmemSpecOrdering::PmemSpecOrdering(const Surroundings& surroundings,
                                   const PmemSpecParameters& parameters)
    : surroundings_(surroundings),
      parameters_(parameters),
      cores_(surroundings.cores),
      pauses_(surroundings.cores),
      clock_(parameters),
      ids_(parameters, surroundings.cores),
      buffers_(clock_, pauses_, statistics_),
      handler_(parameters, clock_, stale_, statistics_) {}

void PmemSpecOrdering::connect(const LayerContext& context) {
  context_.emplace(context);
  stale_.connect(context);
  store_interval_ = context.clock.duration(parameters_.store_interval);
  path_stores_ = parameters_.path_stores;
  if (path_stores_ == 0) {
    const std::int64_t stores = parameters_.path_latency.count / store_interval_.count;
    path_stores_ = static_cast<std::size_t>(std::max<std::int64_t>(stores, 1));
  }
  acknowledgement_ = surroundings_.acknowledgement + context.caches.controller_to_core();
  // A store waits before the path at most as long as the stores of a full path take to enter.
  const bool waits = store_interval_ > context.clock.duration(cycles(1));
  const Picoseconds longest_wait = store_interval_ * static_cast<std::int64_t>(path_stores_);
  window_ = speculation_window(parameters_, waits ? longest_wait : Picoseconds{0}, cores_.size());
  pauses_.connect(context.threads);
  clock_.connect(context.queue, context.clock);
  buffers_.connect(context, surroundings_.controllers, SpeculationBuffer(parameters_, window_),
                   completion<&PmemSpecOrdering::core_resumed>(*this));
  handler_.connect(context, window_, completion<&PmemSpecOrdering::mark_threads>(*this),
                   completion<&PmemSpecOrdering::alarms_handled>(*this));
}

// Keeps the ordering fence before a commit, where regions check their mark (rule 10).
Lowering PmemSpecOrdering::lowering() const {
  Lowering lowering;
  lowering.keeps_flushes.fill(false);
  lowering.keeps_ordering_fences.fill(false);
  lowering.keeps_ordering_fences[static_cast<std::size_t>(surroundings_.before_commit)] =
      surroundings_.regions && parameters_.commit_check == CommitCheck::kWaits;
  lowering.keeps_the_rest[static_cast<std::size_t>(trace::Purpose::kDataFlush)] = false;
  lowering.keeps_non_temporal = false;
  lowering.own_fences = true;
  return lowering;
}

// --- The paths -----------------------------------------------------------------------------------

bool PmemSpecOrdering::store(const Store& store, Time, Completion resume) {
  PerCore& core = cores_[store.core];
  if (core.waits_for == WaitsFor::kRollback) return false;
  core.leaving = LeavingStore(store);
  core.early =
      without_speculation_ > 0 ||
      (store.atomic && parameters_.releases == Releases::kWait);  // rules 12 and 5 (pmem_spec.hpp)
  core.entered = false;
  core.speculates = !core.early;
  if (!may_store(core)) return wait(store.core, WaitsFor::kPath, resume);
  if (!core.early) return true;
  enter_early(store.core);
  return wait(store.core, WaitsFor::kArrivals, resume);
}

// Rules 1, 4 and 8 (pmem_spec.hpp).
bool PmemSpecOrdering::may_store(const PerCore& core) const {
  if (buffers_.full() && parameters_.full_buffer_stops == FullBuffer::kCoresAndPmStores)
    return false;
  return core.barriers == 0 && core.sent - core.offered < path_stores_;
}

void PmemSpecOrdering::enter_early(CoreId number) {
  PerCore& core = cores_[number];
  core.entered = true;
  PathStore store{.line = core.leaving.line(), .bytes = core.leaving.bytes()};
  core.leaving.copy_to(store.data);
  enter(number, store);
}

// Rules 1 and 11 (pmem_spec.hpp). A re-executed store also carries other threads' later stores to
// its bytes.
void PmemSpecOrdering::visible(CoreId number, Line line) {
  PerCore& core = cores_[number];
  stale_.stored(line, core.leaving.bytes());
  const LineData newest = context_->pm_space.newest().read(line);
  if (std::exchange(core.entered, false) && core.leaving.is_in(newest)) return;
  enter(number, {.line = line,
                 .bytes = parameters_.faults.masks ? kWholeLine : core.leaving.bytes(),
                 .data = newest});
  core.speculates = false;
  core.speculated = core.sent;
}

// Rule 11 (pmem_spec.hpp).
void PmemSpecOrdering::restored(CoreId number, std::uint64_t address, std::uint32_t bytes) {
  if (parameters_.faults.rollback) return;
  for (std::uint64_t begin = address; begin < address + bytes;) {
    const Line line = Line::of(begin);
    const std::uint64_t end = std::min(address + bytes, line.address() + kLineBytes);
    PathStore store{.line = line,
                    .bytes = bytes_from(begin % kLineBytes, end - begin),
                    .data = context_->pm_space.newest().read(line),
                    .restores = true};
    stale_.stored(line, store.bytes);
    std::uint64_t* const restoring = restoring_.find(line);
    ++(restoring != nullptr ? *restoring : restoring_.insert(line));
    enter(number, store);
    begin = end;
  }
}

void PmemSpecOrdering::enter(CoreId number, PathStore store) {
  PerCore& core = cores_[number];
  store.id = ids_.of(number);
  store.sent_at = context_->queue.now();
  const Time departs = max(core.departs, store.sent_at);
  core.departs = departs + store_interval_;
  core.path.push_back(store);
  ++core.sent;
  ++statistics_.stores;
  context_->queue.schedule(departs + parameters_.path_latency, Phase::kController,
                           completion<&PmemSpecOrdering::arrive>(*this, number));
}

void PmemSpecOrdering::arrive(std::uint64_t number, Time now) {
  ++cores_[number].arrived;
  if (!cores_[number].backed_up) offer_stores(number, now);
}

// Offers arrived stores to their controllers, until one has to wait.
void PmemSpecOrdering::offer_stores(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  const bool ordered = !parameters_.faults.order;
  if (ordered && core.accepted < core.offered) return;
  if (core.offered == core.arrived) set_backed_up(core, false);
  while (core.offered < core.arrived) {
    const PathStore store = core.path.front();
    if (ordered && changes_controller(core, store.line, now)) {
      set_backed_up(core, true);
      context_->queue.schedule(core.accepted_at + parameters_.controller_latency,
                               Phase::kController,
                               completion<&PmemSpecOrdering::offer_stores>(*this, number));
      return;
    }
    set_backed_up(core, false);
    core.path.pop_front();
    ++core.offered;
    if (core.waits_for == WaitsFor::kPath) {
      context_->queue.schedule(now, Phase::kCore,
                               completion<&PmemSpecOrdering::resume_waiting>(*this, number));
    }
    if (parameters_.store_check == StoreCheck::kArrival) {
      check(store, now);
    } else {
      core.unchecked.push_back(store);
    }
    core.offering = true;
    context_->pm.write({.line = store.line,
                        .data = store.data,
                        .persisted = {},
                        .written = {},
                        .persisting = completion<&PmemSpecOrdering::accepted>(*this, number),
                        .bytes = store.bytes});
    core.offering = false;
    if (store.restores) read_waiting(store.line);
    if (ordered && core.accepted < core.offered) return set_backed_up(core, true);
  }
}

// Rule 3 (pmem_spec.hpp).
bool PmemSpecOrdering::changes_controller(PerCore& core, Line line, Time now) {
  const std::uint32_t controller = context_->pm.channel_of(line);
  const bool too_early = core.offered > 0 && controller != core.controller &&
                         now < core.accepted_at + parameters_.controller_latency;
  if (too_early) {
    statistics_.controller_changes += !std::exchange(core.changes_controller, true);
  } else {
    core.controller = controller;
    core.changes_controller = false;
  }
  return too_early;
}

void PmemSpecOrdering::accepted(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  ++core.accepted;
  core.accepted_at = now;
  if (!core.unchecked.empty()) {
    const PathStore store = core.unchecked.front();
    core.unchecked.pop_front();
    check(store, now);
  }
  const bool fence = !core.fences.empty() && core.fences.front().until <= core.accepted;
  if (fence || (core.waits_for > WaitsFor::kPath && core.wait_until <= core.accepted)) {
    schedule_acknowledgement(static_cast<CoreId>(number));
  }
  if (core.offering || parameters_.faults.order) return;
  context_->queue.schedule(now, Phase::kController,
                           completion<&PmemSpecOrdering::offer_stores>(*this, number));
}

void PmemSpecOrdering::set_backed_up(PerCore& core, bool backed_up) {
  if (core.backed_up == backed_up) return;
  core.backed_up = backed_up;
  if (backed_up) {
    clock_.path_backed_up();
  } else {
    clock_.path_freed();
  }
}

// --- Stalls --------------------------------------------------------------------------------------

// True if the core has been notified that this number of its stores have arrived.
bool PmemSpecOrdering::is_acknowledged(PerCore& core, std::uint64_t stores) {
  const bool all = core.accepted == core.sent;
  if (all && core.accepted_at + acknowledgement_ <= context_->queue.now())
    core.acknowledged = core.sent;
  return core.acknowledged >= stores;
}

void PmemSpecOrdering::schedule_acknowledgement(CoreId number) {
  const PerCore& core = cores_[number];
  context_->queue.schedule(context_->queue.now_or_later(core.accepted_at + acknowledgement_),
                           Phase::kCore,
                           completion<&PmemSpecOrdering::acknowledged>(
                               *this, std::uint64_t{number} << kCoreShift | core.accepted));
}

void PmemSpecOrdering::acknowledged(std::uint64_t core_and_stores, Time now) {
  const auto number = static_cast<CoreId>(core_and_stores >> kCoreShift);
  PerCore& core = cores_[number];
  core.acknowledged =
      std::max(core.acknowledged, core_and_stores & ((std::uint64_t{1} << kCoreShift) - 1));
  fulfil_fences(number);
  resume_waiting(number, now);
}

void PmemSpecOrdering::fulfil_fences(CoreId number) {
  PerCore& core = cores_[number];
  while (!core.fences.empty() && core.fences.front().until <= core.acknowledged) {
    context_->program_events.fence_fulfilled(number, core.fences.front().number);
    core.barriers -= core.fences.front().barrier;
    core.fences.pop_front();
  }
  if (core.barriers > 0) return;
  for (const std::uint64_t region : std::exchange(core.ended, {})) {
    context_->program_events.region_durable(number, region);
  }
}

// Stalls the store queue until the condition holds; always returns false, the answer to the queue.
bool PmemSpecOrdering::wait(CoreId number, WaitsFor what, Completion resume) {
  PerCore& core = cores_[number];
  core.waits_for = what;
  core.waiting = resume;
  core.wait_until = core.sent;
  const bool all = core.accepted == core.sent;
  if (what != WaitsFor::kPath && all && !is_acknowledged(core, core.sent))
    schedule_acknowledgement(number);
  return false;
}

bool PmemSpecOrdering::may_continue(PerCore& core) {
  switch (core.waits_for) {
    case WaitsFor::kNothing:
      return false;
    case WaitsFor::kPath:
      return may_store(core);
    case WaitsFor::kCheck:
    case WaitsFor::kRestored:
      return handler_.lines() == 0 && is_acknowledged(core, core.wait_until);
    case WaitsFor::kArrivals:
    case WaitsFor::kRollback:
      return is_acknowledged(core, core.wait_until);
  }
  return false;
}

void PmemSpecOrdering::resume_waiting(std::uint64_t number64, Time now) {
  const auto number = static_cast<CoreId>(number64);
  PerCore& core = cores_[number];
  if (!may_continue(core)) return;
  const Completion resume = std::exchange(core.waiting, {});
  switch (std::exchange(core.waits_for, WaitsFor::kNothing)) {
    case WaitsFor::kPath:
      if (!core.early || core.entered) break;
      enter_early(number);
      wait(number, WaitsFor::kArrivals, resume);
      return;
    case WaitsFor::kCheck:
      if (core.marked) return roll_back(number, now);
      if (core.ending != 0) region_completed(number);
      break;
    case WaitsFor::kRollback:
      return rewind(number);
    case WaitsFor::kRestored:
      return restart_region(number, now);
    case WaitsFor::kNothing:
    case WaitsFor::kArrivals:
      break;
  }
  resume(now);
}

// Rule 4 (pmem_spec.hpp).
bool PmemSpecOrdering::fence(const Fence& fence, Time, Completion resume) {
  PerCore& core = cores_[fence.core];
  if (core.waits_for == WaitsFor::kRollback) return false;
  const bool barrier = fence.meaning != trace::FenceMeaning::kOrder;
  if (is_acknowledged(core, core.sent) || (barrier && parameters_.faults.barrier)) {
    context_->program_events.fence_fulfilled(fence.core, fence.number);
  } else {
    core.fences.push_back({core.sent, fence.number, barrier});
    core.barriers += barrier;
    if (barrier && parameters_.barrier_stops == DurableFence::kStopsStoreQueue) {
      return wait(fence.core, WaitsFor::kArrivals, resume);
    }
    if (core.accepted == core.sent) schedule_acknowledgement(fence.core);
  }
  const bool commits = !barrier && core.region != 0;
  if (!commits || parameters_.commit_check == CommitCheck::kPublished) return true;
  core.ending = 0;
  return check_region(fence.core, resume);
}

// Rules 4 and 5 (pmem_spec.hpp).
bool PmemSpecOrdering::release(CoreId number, Time, Completion resume) {
  PerCore& core = cores_[number];
  if (core.waits_for == WaitsFor::kRollback) return false;
  if (parameters_.releases == Releases::kWait) {
    return is_acknowledged(core, core.sent) || wait(number, WaitsFor::kArrivals, resume);
  }
  return core.barriers == 0 || wait(number, WaitsFor::kPath, resume);
}

// --- Misspeculation ------------------------------------------------------------------------------

// Rule 7 (pmem_spec.hpp).
void PmemSpecOrdering::synchronised(CoreId number, trace::SyncKind kind, Time) {
  ids_.synchronised(number, kind);
}

void PmemSpecOrdering::load(const Load& load, Time) {
  const std::uint64_t region = surroundings_.regions ? load.region : 0;
  PerCore& core = cores_[load.core];
  core.loaded_region = std::max(core.loaded_region, region);
  if (stale_.loaded(load, region)) statistics_.unrepaired_loads += region == 0;
}

// Rule 2 (pmem_spec.hpp).
Eviction PmemSpecOrdering::evicted(Line line, const LineData&, Time when) {
  context_->queue.schedule(when + context_->caches.shared_to_controller(), Phase::kController,
                           completion<&SpeculationBuffers::write_back>(buffers_, line.number));
  return Eviction::kTaken;
}

bool PmemSpecOrdering::fetch(CoreId, Line line, Time, Completion done) {
  if (restoring_.find(line) != nullptr) {  // rule 11 (pmem_spec.hpp)
    waiting_reads_.push_back({line, done});
    return true;
  }
  watch(line);
  return false;
}

// Records a read that returns the current contents of PM.
void PmemSpecOrdering::watch(Line line) {
  LineData found = context_->pm.newest(line);
  // A store that has entered its path early may be in PM before it is visible. Its bytes aren't
  // stale.
  for (const PerCore& core : cores_) {
    if (!core.entered || core.leaving.line() != line) continue;
    take_bytes(found, context_->pm_space.newest().read(line), core.leaving.bytes());
  }
  const bool stale = stale_.read(line, found);
  if (stale) {
    ++statistics_.stale_reads;
    std::uint64_t* const unreported = unreported_.find(line);
    ++(unreported != nullptr ? *unreported : unreported_.insert(line));
  }
  buffers_.read(line, stale);
}

// Handles the arrival of a store that restores the line's old contents. Stalled reads continue
// after the last such store.
void PmemSpecOrdering::read_waiting(Line line) {
  std::uint64_t* const restoring = restoring_.find(line);
  if (--*restoring > 0) return;
  restoring_.erase(line);
  for (const WaitingRead& read : std::exchange(waiting_reads_, {})) {
    if (read.line != line) {
      waiting_reads_.push_back(read);
      continue;
    }
    watch(line);
    context_->pm.read(line, read.done);
  }
}

void PmemSpecOrdering::check(const PathStore& store, Time now) {
  statistics_.late_persists += now - store.sent_at > window_;
  const auto found = buffers_.persist({store.line, store.bytes, store.id});
  if (!found || parameters_.faults.detection) return;
  if (found->of_store) {
    ++statistics_.store_alarms;
    statistics_.false_store_alarms += found->false_alarm;
  } else {
    ++statistics_.load_alarms;
    statistics_.false_load_alarms += found->false_alarm;
  }
  if (unreported_.find(store.line) != nullptr) unreported_.erase(store.line);
  handler_.alarm(store.line);
}

// After rule 9 (pmem_spec.hpp), checks and rollbacks may continue.
void PmemSpecOrdering::alarms_handled(std::uint64_t, Time now) {
  for (CoreId core = 0; core < cores_.size(); ++core) {
    const WaitsFor what = cores_[core].waits_for;
    if (what == WaitsFor::kCheck || what == WaitsFor::kRestored) resume_waiting(core, now);
  }
}

// Marks threads in regions. A region's loads may retire while its begin is in the store queue.
void PmemSpecOrdering::mark_threads(std::uint64_t, Time now) {
  if (!surroundings_.regions) return;
  for (CoreId number = 0; number < cores_.size(); ++number) {
    PerCore& core = cores_[number];
    const bool in_region = core.region != 0 || core.loaded_region > core.ended_region;
    if (!in_region || core.speculation_disabled || core.waits_for >= WaitsFor::kRollback) continue;
    core.marked = true;
    if (parameters_.recovery == SpecRecovery::kEager && core.region != 0) {
      roll_back(number, now);
    }
  }
}

// Rule 8 (pmem_spec.hpp).
void PmemSpecOrdering::core_resumed(std::uint64_t core, Time now) {
  const bool stopped = parameters_.full_buffer_stops == FullBuffer::kCoresAndPmStores;
  if (stopped && cores_[core].waits_for == WaitsFor::kPath) resume_waiting(core, now);
}

// --- Rollback ------------------------------------------------------------------------------------

void PmemSpecOrdering::region_begin(CoreId number, std::uint64_t region) {
  if (!surroundings_.regions) return;
  PerCore& core = cores_[number];
  core.region = region;
  ids_.region_begins(number);
  if (core.aborted != region) core.aborts = 0;
  statistics_.without_speculation += core.speculation_disabled;
}

bool PmemSpecOrdering::region_end(CoreId number, std::uint64_t region, Time, Completion resume) {
  PerCore& core = cores_[number];
  if (!surroundings_.regions) return true;
  if (core.waits_for == WaitsFor::kRollback) return false;
  core.ending = region;
  if (parameters_.commit_check == CommitCheck::kWaits) {
    if (!check_region(number, resume)) return false;
  } else if (core.marked) {
    core.waits_for = WaitsFor::kRollback;
    context_->queue.schedule(context_->queue.now(), Phase::kCore,
                             completion<&PmemSpecOrdering::roll_back>(*this, number));
    return false;
  }
  region_completed(number);
  return true;
}

// Rule 10 (pmem_spec.hpp). Even if the condition holds at once, the rollback is scheduled: a thread
// must not roll back within a call that its core makes.
bool PmemSpecOrdering::check_region(CoreId number, Completion resume) {
  PerCore& core = cores_[number];
  if (handler_.lines() == 0 && is_acknowledged(core, core.sent) && !core.marked) return true;
  wait(number, WaitsFor::kCheck, resume);
  if (may_continue(core)) {
    context_->queue.schedule(context_->queue.now(), Phase::kCore,
                             completion<&PmemSpecOrdering::resume_waiting>(*this, number));
  }
  return false;
}

void PmemSpecOrdering::region_completed(CoreId number) {
  PerCore& core = cores_[number];
  core.ended_region = std::exchange(core.ending, 0);
  core.region = 0;
  if (std::exchange(core.speculation_disabled, false)) --without_speculation_;
  if (core.barriers > 0) {
    core.ended.push_back(core.ended_region);
  } else {
    context_->program_events.region_durable(number, core.ended_region);
  }
}

// Rule 11 (pmem_spec.hpp).
void PmemSpecOrdering::roll_back(std::uint64_t number64, Time now) {
  const auto number = static_cast<CoreId>(number64);
  PerCore& core = cores_[number];
  core.rollback_since = now;
  pauses_.pause(number);
  wait(number, WaitsFor::kRollback, {});
  if (may_continue(core)) resume_waiting(number, now);
}

void PmemSpecOrdering::rewind(CoreId number) {
  PerCore& core = cores_[number];
  ++statistics_.aborts;
  core.marked = false;
  core.aborts = core.aborted == core.region ? core.aborts + 1 : 1;
  core.aborted = core.region;
  core.region = core.ending = 0;
  core.loaded_region = core.ended_region;
  context_->threads.rewind(number);
  core.speculates = false;
  if (core.aborts >= parameters_.retries && !std::exchange(core.speculation_disabled, true)) {
    ++without_speculation_;
  }
  ids_.region_rolls_back(number);
  wait(number, WaitsFor::kRestored, {});
  if (may_continue(core)) resume_waiting(number, context_->queue.now());
}

void PmemSpecOrdering::restart_region(std::uint64_t number64, Time now) {
  const auto number = static_cast<CoreId>(number64);
  if (cores_[number].speculation_disabled && !has_no_stale_lines()) {
    context_->queue.schedule(now + clock_.poll_interval(cores_[number].rollback_since),
                             Phase::kCore,
                             completion<&PmemSpecOrdering::restart_region>(*this, number));
    return;
  }
  statistics_.abort_time += now - cores_[number].rollback_since;
  pauses_.resume(number);
}

// Rule 12 (pmem_spec.hpp). False while a visible store hasn't arrived, or an alarm is left.
bool PmemSpecOrdering::has_no_stale_lines() const {
  return handler_.lines() == 0 && std::ranges::none_of(cores_, [](const PerCore& core) {
           return core.speculates || core.accepted < core.speculated;
         });
}

void PmemSpecOrdering::statistics(StatisticsCollector& collector) const {
  PmemSpecStatistics all = statistics_;
  all.backed_up_time = clock_.backed_up_time();
  all.assigned = ids_.assigned();
  unreported_.for_each([&](Line, std::uint64_t reads) { all.missed_stale_reads += reads; });
  collector.group("pmem_spec", all);
}

std::string PmemSpecOrdering::pending() const {
  std::string text = sentences(cores_.size(), [this](std::size_t core) {
    const std::uint64_t stores = cores_[core].sent - cores_[core].accepted;
    return stores == 0 ? ""
                       : std::to_string(stores) + " stores on the persist path of core " +
                             std::to_string(core);
  });
  if (handler_.lines() > 0) {
    text += (text.empty() ? "" : "; ") + std::to_string(handler_.lines()) +
            " misspeculated lines that the handler has not dropped";
  }
  return text;
}

// ---- Storage

Storage PmemSpecOrdering::storage(const PmemSpecParameters& parameters, const Chip& chip) {
  constexpr std::uint64_t kAddressBits = 64, kStateBits = 2, kInsertedBits = 30;
  const std::uint64_t entries = parameters.buffer_entries, id_bits = parameters.id_bits;
  return {{
      {.name = "speculation buffer, a channel",
       .formula = fmt::format("{} x ({} bit address + {} bit state + {} bit ID + {} bit inserted)",
                              entries, kAddressBits, kStateBits, id_bits, kInsertedBits),
       .bytes = in_bytes(entries * (kAddressBits + kStateBits + id_bits + kInsertedBits)),
       .count = chip.channels,
       .source = "8.1",
       .printed = 64},
      {.name = "speculation ID register, a core",
       .formula = fmt::format("{} bit", id_bits),
       .bytes = in_bytes(id_bits),
       .count = chip.cores,
       .source = "5.2.2"},
  }};
}

}  // namespace pmemsim
