#include "pmemsim/designs/ordering/pmem_spec.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/sentences.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {
template <class Visitor>
void PmemSpecOrdering::Statistics::describe(Visitor& visit) const {
  visit("stores", stores, "stores", "Stores that entered the persist paths",
        origin_of("received.data_writes"));
  visit("backed_up_time_ns", backed_up_time, "Time in which at least one persist path was stalled",
        at_most("run.drained_ns"));
  visit("controller_changes", controller_changes, "stores",
        "Stores that stalled because the previous store used another controller",
        part_of("stores"));
  visit("late_persists", late_persists, "stores",
        "Stores whose latency exceeded the speculation window", part_of("stores"));
  visit("write_backs", write_backs, "lines", "Write-backs of which the controllers were notified",
        part_of("shared.evictions_taken"));
  visit("stale_reads", stale_reads, "reads", "Reads of PM that returned stale data",
        part_of("shared.pm_reads"));
  visit("load_alarms", load_alarms, "alarms", "Detected load misspeculations", at_most("stores"));
  visit("false_load_alarms", false_load_alarms, "alarms",
        "Detected load misspeculations without a stale read (false alarms)",
        part_of("load_alarms"));
  visit("missed_stale_reads", missed_stale_reads, "reads", "Stale reads that were not detected",
        part_of("stale_reads"));
  visit("store_alarms", store_alarms, "alarms", "Detected store misspeculations",
        at_most("stores"));
  visit("false_store_alarms", false_store_alarms, "alarms",
        "Detected store misspeculations between stores to different bytes of a line",
        part_of("store_alarms"));
  visit("unrepaired_loads", unrepaired_loads, "loads",
        "Loads of stale bytes in code that can't be re-executed");
  visit("assigned_ids", assigned, "IDs", "Speculation IDs assigned");
  visit("overflows", overflows, "pauses",
        "Pauses of all cores because a speculation buffer was full");
  visit("overflow_time_ns", overflow_time,
        "Total time of pauses because a speculation buffer was full", at_most("run.drained_ns"));
  visit("lost_alarms", lost_alarms, "lines",
        "Misspeculated lines that were overwritten before the handler dropped them",
        part_of("load_alarms", "store_alarms"));
  visit("interrupts", interrupts, "interrupts", "Runs of the misspeculation handler",
        part_of("load_alarms", "store_alarms"));
  visit("aborts", aborts, "regions", "Regions that were aborted and re-executed");
  visit("abort_time_ns", abort_time,
        "Total time from the decision to abort regions until they restarted",
        part_of("core.time_ns"));
  visit("without_speculation", without_speculation, "regions",
        "Regions executed without speculation", part_of("core.regions"));
}

PmemSpecOrdering::PmemSpecOrdering(const Surroundings& surroundings,
                                   const PmemSpecParameters& parameters)
    : surroundings_(surroundings), parameters_(parameters), cores_(surroundings.cores) {}

void PmemSpecOrdering::connect(const LayerContext& context) {
  context_.emplace(context);
  stale_.connect(context);
  store_interval_ = context.clock.duration(parameters_.store_interval);
  least_poll_interval_ = max(parameters_.path_latency, context.clock.duration(cycles(1)));
  path_stores_ = parameters_.path_stores;
  if (path_stores_ == 0) {
    const std::int64_t stores = parameters_.path_latency.count / store_interval_.count;
    path_stores_ = static_cast<std::size_t>(std::max<std::int64_t>(stores, 1));
  }
  acknowledgement_ = surroundings_.acknowledgement + context.caches.controller_to_core();
  window_ = window();
  buffers_.assign(surroundings_.controllers, SpeculationBuffer(parameters_, window_));
}

// Rule 6 (pmem_spec.hpp). A store waits before the path at most as long as the stores of a full
// path take to enter.
Picoseconds PmemSpecOrdering::window() const {
  if (parameters_.faults.window) return {};
  if (parameters_.window > Picoseconds{0}) return parameters_.window;
  const Picoseconds cycle = context_->clock.duration(cycles(1));
  Picoseconds path = parameters_.path_latency;
  if (store_interval_ > cycle) path += store_interval_ * static_cast<std::int64_t>(path_stores_);
  return path * static_cast<std::int64_t>(cores_.size());
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
  if (paused_ && parameters_.full_buffer_stops == FullBuffer::kCoresAndPmStores) return false;
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
  store.id = core.id;
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
  const Time now = context_->queue.now();
  if (backed_up) {
    if (backed_up_++ == 0) backed_up_since_ = now;
  } else if (--backed_up_ == 0) {
    statistics_.backed_up_time += now - backed_up_since_;
  }
}

// Rule 6 (pmem_spec.hpp).
Time PmemSpecOrdering::window_time() const {
  if (parameters_.backed_up_windows == BackedUpWindows::kGoOn) return context_->queue.now();
  const Time now = backed_up_ > 0 ? backed_up_since_ : context_->queue.now();
  return now - statistics_.backed_up_time;
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
      return alarms_.empty() && is_acknowledged(core, core.wait_until);
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

// Rule 7 (pmem_spec.hpp). An unlock may have no lock before it: at the recording's start, locks may
// be held.
void PmemSpecOrdering::synchronised(CoreId number, trace::SyncKind kind, Time) {
  PerCore& core = cores_[number];
  if (trace::is_lock(kind)) {
    const bool inner = core.locks++ > 0;
    if (!inner || parameters_.inner_locks == InnerLocks::kNewId) assign(core);
  } else if (trace::is_unlock(kind)) {
    if (core.locks > 0) --core.locks;
    if (core.locks == 0) core.id.reset();
  }
}

void PmemSpecOrdering::assign(PerCore& core) {
  ++statistics_.assigned;
  ++next_id_;
  if (!parameters_.faults.tags) core.id = next_id_ & (UINT32_MAX >> (32 - parameters_.id_bits));
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
                           completion<&PmemSpecOrdering::write_back>(*this, line.number));
  return Eviction::kTaken;
}

void PmemSpecOrdering::write_back(std::uint64_t line, Time) {
  ++statistics_.write_backs;
  buffer_of({line}).write_back({line}, window_time());
  pause_if_full();
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
  buffer_of(line).read(line, stale, window_time());
  pause_if_full();
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
  const auto found =
      buffer_of(store.line).persist({store.line, store.bytes, store.id}, window_time());
  pause_if_full();
  if (!found || parameters_.faults.detection) return;
  if (found->of_store) {
    ++statistics_.store_alarms;
    statistics_.false_store_alarms += found->false_alarm;
  } else {
    ++statistics_.load_alarms;
    statistics_.false_load_alarms += found->false_alarm;
  }
  if (unreported_.find(store.line) != nullptr) unreported_.erase(store.line);
  alarm(store.line);
}

// Rule 9 (pmem_spec.hpp).
void PmemSpecOrdering::alarm(Line line) {
  const Time until = window_time() + window_;
  const auto known =
      std::ranges::find_if(alarms_, [line](const Alarm& other) { return other.line == line; });
  if (known != alarms_.end()) {
    known->until = until;
  } else {
    if (parameters_.alarm_entries > 0 && alarms_.size() == parameters_.alarm_entries) {
      ++statistics_.lost_alarms;
      alarms_.erase(alarms_.begin());
    }
    alarms_.push_back({line, until});
  }
  if (std::exchange(interrupt_, true)) return;
  context_->queue.schedule(context_->queue.now() + parameters_.interrupt_latency,
                           Phase::kController, completion<&PmemSpecOrdering::interrupt>(*this));
}

void PmemSpecOrdering::interrupt(std::uint64_t, Time now) {
  ++statistics_.interrupts;
  handling_since_ = now;
  handle_alarms(0, now);
}

// Returns how long a poll waits that has begun at `since`. After 64 polls the interval grows with
// the time, so that waits for a slow memory don't need millions of polls.
Picoseconds PmemSpecOrdering::poll_interval(Time since) const {
  const Picoseconds waited = context_->queue.now() - since;
  return max(least_poll_interval_, Picoseconds{waited.count / 64});
}

// Runs the handler, again and again, until no alarm is left. It polls while the windows' clock is
// stopped, because the time at which an alarm ends isn't known then.
void PmemSpecOrdering::handle_alarms(std::uint64_t, Time now) {
  mark_threads();
  std::erase_if(alarms_, [this](const Alarm& alarm) {
    if (!is_resolved(alarm)) return false;
    context_->program_events.stale_line_reported(alarm.line);
    return true;
  });
  if (!alarms_.empty()) {
    const Picoseconds sent = alarms_.front().until - window_time();
    context_->queue.schedule(now + max(sent, poll_interval(handling_since_)), Phase::kController,
                             completion<&PmemSpecOrdering::handle_alarms>(*this));
    return;
  }
  interrupt_ = false;
  for (CoreId core = 0; core < cores_.size(); ++core) {
    const WaitsFor what = cores_[core].waits_for;
    if (what == WaitsFor::kCheck || what == WaitsFor::kRestored) resume_waiting(core, now);
  }
}

// True if no cache holds the line's misspeculated data any more.
bool PmemSpecOrdering::is_resolved(const Alarm& alarm) {
  if (parameters_.alarmed_lines == AlarmedLines::kPublished) return true;
  if (window_time() < alarm.until || !context_->caches.drop(alarm.line)) return false;
  stale_.forget(alarm.line);
  return true;
}

// Marks threads in regions. A region's loads may retire while its begin is in the store queue.
void PmemSpecOrdering::mark_threads() {
  if (!surroundings_.regions) return;
  for (CoreId number = 0; number < cores_.size(); ++number) {
    PerCore& core = cores_[number];
    const bool in_region = core.region != 0 || core.loaded_region > core.ended_region;
    if (!in_region || core.speculation_disabled || core.waits_for >= WaitsFor::kRollback) continue;
    core.marked = true;
    if (parameters_.recovery == SpecRecovery::kEager && core.region != 0) {
      roll_back(number, context_->queue.now());
    }
  }
}

// Rule 8 (pmem_spec.hpp).
void PmemSpecOrdering::pause_if_full() {
  const Time now = window_time();
  if (context_->program_events.stages() != nullptr) log_occupancy();
  for (SpeculationBuffer& buffer : buffers_) {
    if (!buffer.overflows(now)) continue;
    if (!std::exchange(paused_, true)) {
      ++statistics_.overflows;
      paused_since_ = context_->queue.now();
      for (CoreId core = 0; core < context_->threads.cores(); ++core) pause(core);
      poll_until_free(buffer);
    }
    return;
  }
}

void PmemSpecOrdering::log_occupancy() const {
  for (std::uint32_t channel = 0; channel < buffers_.size(); ++channel) {
    context_->program_events.log_occupancy(channel, LoggedStructure::kSpeculationBuffer,
                                           buffers_[channel].entries());
  }
}

// Polls while the windows' clock is stopped, because the time of the next expiry isn't known then.
void PmemSpecOrdering::poll_until_free(const SpeculationBuffer& buffer) {
  const Picoseconds sent = buffer.next_expiry() - window_time();
  const Picoseconds least = backed_up_ > 0 ? poll_interval(paused_since_) : Picoseconds{0};
  context_->queue.schedule(context_->queue.now() + max(sent, least), Phase::kController,
                           completion<&PmemSpecOrdering::resume_when_free>(*this));
}

void PmemSpecOrdering::resume_when_free(std::uint64_t, Time now) {
  for (SpeculationBuffer& buffer : buffers_) {
    if (buffer.overflows(window_time())) return poll_until_free(buffer);
  }
  paused_ = false;
  statistics_.overflow_time += now - paused_since_;
  for (CoreId core = 0; core < context_->threads.cores(); ++core) {
    resume(core);
    const bool stopped = parameters_.full_buffer_stops == FullBuffer::kCoresAndPmStores;
    if (stopped && cores_[core].waits_for == WaitsFor::kPath) resume_waiting(core, now);
  }
}

void PmemSpecOrdering::pause(CoreId core) {
  if (cores_[core].pauses++ == 0) context_->threads.pause(core);
}

void PmemSpecOrdering::resume(CoreId core) {
  if (--cores_[core].pauses == 0) context_->threads.resume(core);
}

// --- Rollback ------------------------------------------------------------------------------------

void PmemSpecOrdering::region_begin(CoreId number, std::uint64_t region) {
  if (!surroundings_.regions) return;
  PerCore& core = cores_[number];
  core.region = region;
  core.locks_at_begin = core.locks;
  core.id_at_begin = core.id.has_value();
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
  if (alarms_.empty() && is_acknowledged(core, core.sent) && !core.marked) return true;
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
  pause(number);
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
  core.locks = core.locks_at_begin;
  core.id.reset();
  if (core.id_at_begin) assign(core);
  wait(number, WaitsFor::kRestored, {});
  if (may_continue(core)) resume_waiting(number, context_->queue.now());
}

void PmemSpecOrdering::restart_region(std::uint64_t number64, Time now) {
  const auto number = static_cast<CoreId>(number64);
  if (cores_[number].speculation_disabled && !has_no_stale_lines()) {
    context_->queue.schedule(now + poll_interval(cores_[number].rollback_since), Phase::kCore,
                             completion<&PmemSpecOrdering::restart_region>(*this, number));
    return;
  }
  statistics_.abort_time += now - cores_[number].rollback_since;
  resume(number);
}

// Rule 12 (pmem_spec.hpp). False while a visible store hasn't arrived, or an alarm is left.
bool PmemSpecOrdering::has_no_stale_lines() const {
  return alarms_.empty() && std::ranges::none_of(cores_, [](const PerCore& core) {
           return core.speculates || core.accepted < core.speculated;
         });
}

void PmemSpecOrdering::statistics(StatisticsCollector& collector) const {
  Statistics all = statistics_;
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
  if (!alarms_.empty()) {
    text += (text.empty() ? "" : "; ") + std::to_string(alarms_.size()) +
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
