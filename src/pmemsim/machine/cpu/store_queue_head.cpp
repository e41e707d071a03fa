#include "pmemsim/machine/cpu/store_queue_head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pmemsim/machine/cpu/core_profile.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {
namespace {

// Makes the entry wait; it continues at `step` when it is resumed. Always returns false.
bool wait(StoreEntry& head, Step step) {
  head.step = step;
  head.waits = true;
  return false;
}

// True if the entry has acquired its lock, although it is still in the queue.
bool has_acquired(const StoreEntry& head) {
  const bool acquires =
      head.kind == StoreKind::kAcquire || head.lock_role == trace::LockRole::kTakes;
  return acquires && head.step >= Step::kAcquired && !(head.step == Step::kAcquired && head.waits);
}

// Logs a flush or fence that leaves the queue.
[[gnu::noinline]] void log_persist(StageLog& stages, const StoreEntry& head, CoreId core,
                                   const Clock& clock, Slot left) {
  stages.add({.stage = head.kind == StoreKind::kFlush ? Stage::kFlush : Stage::kFence,
              .detail = static_cast<std::uint8_t>(head.purpose),
              .unit = core,
              .part = head.site,
              .id = head.region,
              .line = Line::of(head.address),
              .at = {clock.time(head.eligible), clock.time(head.waiting_since), clock.time(left)}});
}

// Logs a store that becomes visible. `drained`: when the queue's last entry left, or the layers
// allowed this store.
[[gnu::noinline]] void log_store(StageLog& stages, const StoreEntry& head, CoreId core,
                                 const Clock& clock, Slot drained, Slot visible) {
  const Slot end = std::max(head.eligible, visible);
  stages.add({.stage = Stage::kStore,
              .detail = static_cast<std::uint8_t>(head.purpose),
              .unit = core,
              .part = head.site,
              .id = head.region,
              .line = Line::of(head.address),
              .at = {clock.time(head.eligible), clock.time(std::clamp(drained, head.eligible, end)),
                     clock.time(end)}});
}

}  // namespace

StoreQueueHead::StoreQueueHead(const Parts& parts, Owner& owner, const Clock& clock,
                               const CoreParameters& parameters, CoreId id, LockOrder lock_order,
                               MissRegisters& misses, DataPort& port, CoreStatistics& statistics)
    : queue_(parts.queue),
      hierarchy_(parts.hierarchy),
      pm_space_(parts.pm_space),
      synchronisation_(parts.synchronisation),
      design_(parts.design),
      program_events_(parts.program_events),
      speculative_stores_(parts.speculative_stores),
      owner_(owner),
      caches_(parts.hierarchy.private_caches(id)),
      misses_(misses),
      port_(port),
      statistics_(statistics),
      clock_(clock),
      id_(id),
      clwb_evicts_(parameters.clwb_evicts),
      one_store_at_a_time_(parameters.one_store_at_a_time),
      faults_(parameters.faults),
      cycle_(clock.cycle()),
      locked_latency_(clock.slots(parameters.locked_latency)),
      flush_interval_(clock.slots(parameters.flush_interval)),
      ends_are_durable_(parts.design.promises().regions == RegionPromise::kAtEnd ||
                        parts.design.commits_synchronously()),
      rewinds_(parts.design.wants(kRewind)),
      reports_stores_(parts.design.wants(kWrittenStores)),
      writes_at_once_(!one_store_at_a_time_ && !port.present() && !reports_stores_),
      stores_(parameters.store_queue_entries),
      acquisitions_(parts.queue, parts.synchronisation, parts.design, clock, id, lock_order, *this),
      draining_regions_(clock, statistics) {}

void StoreQueueHead::drain() {
  if (draining_) return;
  draining_ = true;
  while (!stores_.empty()) {
    StoreEntry& head = stores_.front();
    if (head.eligible == kUnknownSlot) break;
    Slot slot = std::max(head.eligible, drained_);
    acquisitions_.notify_until(stores_.head(), slot);
    // A store that the layers have allowed only waits for its line.
    const bool only_its_line = head.kind == StoreKind::kStore && head.step == Step::kAllowed;
    if (head.step != Step::kArrived && !only_its_line) {
      slot = std::max(slot, clock_.slot(queue_.now()));
    }
    if (!drain_one(head, slot)) break;
    drained_ = slot;
    if (reports_stores_ && head.writes) [[unlikely]]
      owner_.store_written(head, slot);
    const bool serialising = head.serialising;
    const std::uint32_t rob = head.rob;
    if (head.ends_region) program_events_.region_durable(id_, head.region, clock_.time(slot));
    stores_.pop(slot);
    draining_regions_.drained(stores_.head(), slot);
    if (serialising) owner_.left_store_queue(rob, slot);
  }
  draining_ = false;
  owner_.drain_stopped();
}

void StoreQueueHead::resume_drain(std::uint64_t number, Time now) {
  if (stores_.empty() || stores_.head() != number) return;
  if (profile_ != nullptr) profile_->head_resumed(clock_.slot(now));
  stores_.front().waits = false;
  drain();
  owner_.drain_resumed();
}

// Makes the entry wait, which the atomicity layer delays from `slot` on. Always returns false.
bool StoreQueueHead::wait_for_log(StoreEntry& head, Step step, Slot slot) {
  if (profile_ != nullptr) profile_->log_delays_head(slot);
  return wait(head, step);
}

// Lets the entry continue at `step` as soon as simulated time has reached the slot. Returns false
// if it waits.
bool StoreQueueHead::at_time(StoreEntry& head, Step step, Slot slot) {
  head.step = step;
  const Time when = clock_.time(slot);
  if (when <= queue_.now()) return true;
  queue_.schedule(when, Phase::kCore, resume_of_head());
  return wait(head, step);
}

bool StoreQueueHead::drain_one(StoreEntry& head, Slot& slot) {
  if (head.waits) return false;
  switch (head.kind) {
    case StoreKind::kStore:
    case StoreKind::kNonTemporal:
      return drain_store(head, slot);
    case StoreKind::kFlush:
    case StoreKind::kFence:
    case StoreKind::kFullFence:
      return drain_persist(head, slot);
    case StoreKind::kAtomicStore:
    case StoreKind::kLocked:
      return drain_atomic(head, slot);
    case StoreKind::kAcquire:
      return drain_acquire(head, slot);
    case StoreKind::kRelease:
      return drain_release(head, slot);
    case StoreKind::kRegionBegin:
    case StoreKind::kRegionEnd:
    case StoreKind::kFenceRegions:
    case StoreKind::kContextSwitch:
      return drain_region(head, slot);
  }
  return true;
}

bool StoreQueueHead::drain_store(StoreEntry& head, Slot& slot) {
  if (head.kind == StoreKind::kNonTemporal) return drain_non_temporal(head, slot);
  if (!notify_layers(head, slot) || !may_write(head, slot)) return false;
  apply(head, slot);
  return true;
}

// A non-temporal store bypasses the caches. It is written to its line's newest value and sent to
// memory like a flush, through a write-combining buffer. A later fence waits for it.
bool StoreQueueHead::drain_non_temporal(StoreEntry& head, Slot& slot) {
  if (!notify_layers(head, slot)) return false;
  const Line line = Line::of(head.address);
  if (head.step != Step::kSent) {
    caches_.invalidate(line);
    apply(head, slot);
    head.step = Step::kSent;
    if (pm_space_.contains(head.address) &&
        !design_.may_flush(id_, line, clock_.time(slot), resume_of_head())) {
      return wait(head, Step::kSent);
    }
  }
  if (!hierarchy_.has_buffer(id_, line, clock_.time(slot), resume_of_head())) {
    return wait(head, Step::kSent);
  }
  design_.non_temporal(id_, line, bytes_from(head.address % kLineBytes, head.size),
                       clock_.time(slot));
  slot += cycle_;
  return true;
}

// True if the line is in the private caches in a writable state. `slot` moves to the end of the
// store.
bool StoreQueueHead::may_write(const StoreEntry& head, Slot& slot) {
  if (port_.present()) [[unlikely]]
    return may_write_through_port(head, slot);
  const Line line = Line::of(head.address);
  if (!one_store_at_a_time_) {
    if (const Slot ready = caches_.write_in_l1(line); ready != kUnknownSlot) {
      slot = std::max(slot + cycle_, ready);
      return true;
    }
  }
  const PrivateCaches::Lookup found = caches_.look_up(line, slot);
  if (!found.hit || found.state == LineState::kShared) {
    misses_.request_write(line, slot);
    return false;
  }
  // Writes to the L1 are pipelined; a line from an outer cache has to arrive first.
  slot = std::max(one_store_at_a_time_ ? found.done : slot + cycle_, found.ready);
  caches_.write(line);
  return true;
}

// Does the same through a port that takes one access at a time. The response to a miss completes
// its store, which makes no second access.
bool StoreQueueHead::may_write_through_port(const StoreEntry& head, Slot& slot) {
  const Line line = Line::of(head.address);
  const bool requested = missing_ == head.number;
  const auto begin = port_.find(slot, caches_.l1_latency(), 0);
  if (!begin || (requested && port_.held())) return false;
  const PrivateCaches::Lookup found = caches_.look_up(line, *begin);
  if (!found.hit || found.state == LineState::kShared) {
    if (port_.held() || !misses_.request_write(line, *begin)) return false;
    port_.hold(*begin, line);
    missing_ = head.number;
    return false;
  }
  if (!requested) port_.take(*begin, found.done);
  slot = requested ? std::max(slot, found.ready) : found.done;
  caches_.write(line);
  return true;
}

// True if a flush may be sent through the port. `slot` moves to the time at which the port is free.
bool StoreQueueHead::has_port(Slot& slot) const {
  if (!port_.present()) return true;
  const auto begin = port_.find(slot, cycle_, 0);
  slot = begin.value_or(slot);
  return begin.has_value();
}

void StoreQueueHead::flush_acknowledged(std::uint64_t, Time now) {
  port_.release(clock_.slot(now));
  drain();
  owner_.drain_resumed();
}

// Requests the lines of stores at retirement, so that their misses overlap. Requests are in program
// order, as soon as an MSHR is free.
void StoreQueueHead::request_lines_ahead() {
  if (one_store_at_a_time_ || port_.present()) return;
  requested_ = std::max(requested_, stores_.head());
  for (; requested_ < stores_.tail(); ++requested_) {
    const StoreEntry& store = stores_.at(requested_);
    if (store.eligible == kUnknownSlot) return;
    const bool releases = store.kind == StoreKind::kRelease && !store.serialising;
    if (store.kind != StoreKind::kStore && store.kind != StoreKind::kAtomicStore && !releases) {
      continue;
    }
    if (!misses_.request_write(Line::of(store.address), store.eligible)) return;
  }
}

void StoreQueueHead::apply(const StoreEntry& head, Slot slot) {
  if (head.writes && pm_space_.contains(head.address)) {
    if (rewinds_) {
      speculative_stores_.store(id_, head.address, std::span(head.value).first(head.size));
    } else {
      pm_space_.newest().write(head.address, head.value.data(), head.size);
    }
    program_events_.stored(Line::of(head.address), head.site);
    if (StageLog* const stages = program_events_.stages()) {
      log_store(*stages, head, id_, clock_, drained_, slot);
    }
    design_.visible(id_, Line::of(head.address));
  }
}

// Notifies the layers that take part in stores. Each store is offered at its own simulated time,
// before it becomes visible, and a layer may delay it. The store waits for that time even if no
// layer takes part, so that observing stores does not change a design's speed.
bool StoreQueueHead::notify_layers(StoreEntry& head, Slot& slot) {
  if (!head.writes || !pm_space_.contains(head.address) || head.step >= Step::kAllowed) return true;
  if (head.step != Step::kOffered && !at_time(head, Step::kOffered, slot)) return false;
  const bool atomic = head.kind == StoreKind::kAtomicStore || head.kind == StoreKind::kLocked;
  const Store store{
      id_,         head.site, head.address, head.size, head.value.data(), pm_space_.newest(),
      head.region, atomic,    head.purpose};
  if (design_.wants(kStores) &&
      !design_.store(head.asked, store, clock_.time(slot), resume_of_head())) {
    return head.asked == LayerAsked::kAtomicity ? wait_for_log(head, Step::kOffered, slot)
                                                : wait(head, Step::kOffered);
  }
  head.step = Step::kAllowed;
  drained_ = std::max(drained_, slot);  // the store may still have to wait for its line
  return true;
}

bool StoreQueueHead::drain_persist(StoreEntry& head, Slot& slot) {
  if (head.step != Step::kSent) {
    if (head.step == Step::kArrived) head.waiting_since = slot;
    if (head.kind == StoreKind::kFlush) {
      if (!may_flush(head, slot) || !in_flush_interval(head, slot)) return false;
      if (!has_port(slot)) return false;
      if (!hierarchy_.may_send_flush(id_, resume_of_head())) return wait(head, Step::kAllowed);
    }
    if (!(head.kind == StoreKind::kFlush ? send_flush(head, slot) : send_fence(head, slot))) {
      return wait(head, Step::kSent);
    }
  } else {
    count_wait(head, slot, Cause::kFence);
  }
  StageLog* const stages = program_events_.stages();
  if (stages != nullptr && (head.kind != StoreKind::kFlush || pm_space_.contains(head.address))) {
    log_persist(*stages, head, id_, clock_, slot);
  }
  slot += cycle_;
  return true;
}

// True if the flush may leave. A design with a log may delay it until it is safe.
bool StoreQueueHead::may_flush(StoreEntry& head, Slot slot) {
  if (!design_.wants(kFlushes) || head.step == Step::kAllowed ||
      !pm_space_.contains(head.address)) {
    return true;
  }
  if (head.step == Step::kArrived && !at_time(head, Step::kOffered, slot)) return false;
  if (!design_.may_flush(id_, Line::of(head.address), clock_.time(slot), resume_of_head())) {
    return wait_for_log(head, Step::kAllowed, slot);
  }
  head.step = Step::kAllowed;
  return true;
}

// Lets a core's flushes leave at intervals. `slot` moves to the time of this one.
bool StoreQueueHead::in_flush_interval(StoreEntry& head, Slot& slot) {
  if (flush_interval_ == 0) return true;
  slot = std::max(slot, next_flush_);
  return at_time(head, Step::kAllowed, slot);
}

bool StoreQueueHead::send_flush(const StoreEntry& head, Slot slot) {
  next_flush_ = slot + flush_interval_;
  const Line line = Line::of(head.address);
  auto kind = static_cast<trace::FlushKind>(head.detail);
  if (clwb_evicts_ && kind == trace::FlushKind::kClwb) kind = trace::FlushKind::kClflushopt;
  if (kind == trace::FlushKind::kClflush)
    empty_buffers(slot);  // a clflush also waits for these stores
  const bool dirty =
      kind == trace::FlushKind::kClwb ? caches_.mark_clean(line) : caches_.invalidate(line);
  program_events_.flushed(id_, line);
  const bool sent = design_.flush(id_, line, kind, dirty,
                                  clock_.time(slot + caches_.passing_latency()), resume_of_head());
  const auto acknowledged = completion<&StoreQueueHead::flush_acknowledged>(*this);
  if (port_.present() && hierarchy_.await_flush(id_, acknowledged)) port_.hold(slot);
  return sent;
}

bool StoreQueueHead::send_fence(const StoreEntry& head, Slot slot) {
  empty_buffers(slot);
  return design_.fence(id_, static_cast<trace::FenceMeaning>(head.detail), clock_.time(slot),
                       resume_of_head());
}

// Empties the write-combining buffers.
void StoreQueueHead::empty_buffers(Slot slot) { hierarchy_.send_combined(id_, clock_.time(slot)); }

// Atomic stores and read-modify-writes take effect in the recorded order of their variable. An
// entry that crosses a line keeps its turn from its first line to its last.
bool StoreQueueHead::drain_atomic(StoreEntry& head, Slot& slot) {
  if (head.step == Step::kArrived && head.follows) {
    head.waiting_since = kUnknownSlot;
    head.step = Step::kAcquired;
  }
  if (head.step == Step::kArrived) {
    head.waiting_since = slot;
    if (!at_time(head, Step::kInTime, slot)) return false;
  }
  if (head.step == Step::kInTime) {
    if (head.kind == StoreKind::kLocked) empty_buffers(slot);
    if (!is_next_in_order(head)) return wait(head, Step::kAcquired);
    head.step = Step::kAcquired;
  }
  if (head.waiting_since != kUnknownSlot) {
    if (slot > head.waiting_since)
      count_acquisition(head, slot, cause_of(static_cast<trace::LockRole>(head.detail)));
    head.waiting_since = kUnknownSlot;
  }
  if (head.writes && !head.follows && !may_release(head, slot)) return false;
  if (!notify_layers(head, slot) || !may_write(head, slot)) return false;
  apply(head, slot);
  if (head.continues) return true;
  if (head.kind == StoreKind::kLocked) slot += locked_latency_;
  if (head.writes) complete_atomic_write(head, slot);
  return true;
}

bool StoreQueueHead::is_next_in_order(const StoreEntry& atomic) {
  if (atomic.lock_role == trace::LockRole::kTakes) {
    return acquisitions_.has_ever_acquired(atomic.synchronisation) ||
           synchronisation_.acquire(trace::SyncKind::kMutexLock, atomic.object, atomic.version,
                                    resume_of_head());
  }
  const std::uint32_t previous =
      atomic.writes && atomic.version > 0 ? atomic.version - 1 : atomic.version;
  return !atomic.in_recorded_order ||
         synchronisation_.acquire_version(atomic.object, previous, resume_of_head());
}

void StoreQueueHead::complete_atomic_write(const StoreEntry& atomic, Slot slot) {
  switch (atomic.lock_role) {
    case trace::LockRole::kNone:
      acquisitions_.release(atomic, slot);
      return;
    case trace::LockRole::kGivesBack:
      acquisitions_.release_once(atomic, slot);
      return;
    case trace::LockRole::kTakes:
      acquisitions_.acquired(atomic.synchronisation);
      return;
    case trace::LockRole::kOther:
      return;
  }
}

bool StoreQueueHead::drain_acquire(StoreEntry& head, Slot& slot) {
  const auto kind = static_cast<trace::SyncKind>(head.detail);
  if (head.step == Step::kArrived && !at_time(head, Step::kInTime, slot)) return false;
  if (head.step == Step::kInTime) {
    empty_buffers(slot);
    head.waiting_since = slot;
    if (!acquisitions_.has_ever_acquired(head.synchronisation) &&
        !acquisitions_.acquire(kind, head.address, head.object, head.version, resume_of_head())) {
      return wait(head, Step::kAcquired);
    }
    head.step = Step::kAcquired;
  }
  if (head.waiting_since != kUnknownSlot) {
    count_acquisition(head, slot, cause_of(kind));
    head.waiting_since = kUnknownSlot;
    acquisitions_.notify_acquisition(kind, head.address, slot);
    slot += acquisitions_.lock_latency(kind);
  }
  if (head.address != 0) {
    if (!may_write(head, slot)) return false;
    slot += locked_latency_;
  }
  acquisitions_.acquired(head.synchronisation);
  return true;
}

// True if the entry may pass its release on to other threads. A layer that orders stores may delay
// it.
bool StoreQueueHead::may_release(StoreEntry& head, Slot& slot) {
  if (!design_.wants(kReleases)) return true;
  if (head.step == Step::kArrived && !at_time(head, Step::kAcquired, slot)) return false;
  if (head.step == Step::kAcquired) {
    head.waiting_since = slot;
    if (!design_.release(id_, clock_.time(slot), resume_of_head())) {
      return wait(head, Step::kReleases);
    }
    head.waiting_since = kUnknownSlot;
    head.step = Step::kReleases;
  }
  if (head.waiting_since != kUnknownSlot) {
    count_wait(head, slot, Cause::kFence);
    head.waiting_since = kUnknownSlot;
  }
  return true;
}

bool StoreQueueHead::drain_release(StoreEntry& head, Slot& slot) {
  empty_buffers(slot);
  if (!may_release(head, slot)) return false;
  if (head.address != 0) {
    if (!may_write(head, slot)) return false;
    if (head.serialising) slot += locked_latency_;
  }
  design_.synchronised(id_, static_cast<trace::SyncKind>(head.detail), clock_.time(slot));
  acquisitions_.release_once(head, slot);
  return true;
}

bool StoreQueueHead::drain_region(StoreEntry& head, Slot& slot) {
  if (head.step == Step::kArrived && !at_time(head, Step::kInTime, slot)) return false;
  if (head.step == Step::kInTime) {
    empty_buffers(slot);
    if (head.asked == LayerAsked::kNone) head.waiting_since = slot;
    if (!ask_design(head, clock_.time(slot))) {
      // When a region's end is resumed, it continues with the next layer.
      return wait(head, head.kind == StoreKind::kRegionEnd ? Step::kInTime : Step::kSent);
    }
    if (slot > head.waiting_since) count_wait(head, slot, Cause::kCommit);
  } else {
    count_wait(head, slot, Cause::kCommit);
  }
  if (rewinds_) region_takes_effect(head);
  const bool durable = head.kind == StoreKind::kFenceRegions ||
                       (head.kind == StoreKind::kRegionEnd && ends_are_durable_);
  if (durable && head.region > 0) {
    program_events_.region_durable(id_, head.region, clock_.time(slot));
  }
  slot += cycle_;
  return true;
}

// Tracks the region that may be rolled back: from the time its begin leaves the queue until its end
// leaves the queue.
void StoreQueueHead::region_takes_effect(const StoreEntry& head) {
  if (head.kind == StoreKind::kRegionBegin) {
    region_in_effect_ = head.region;
    speculative_stores_.begin(id_);
  } else if (head.kind == StoreKind::kRegionEnd && region_in_effect_ != 0) {
    region_in_effect_ = 0;
    speculative_stores_.end(id_);
    owner_.region_drained();
  }
}

bool StoreQueueHead::ask_design(StoreEntry& head, Time when) {
  switch (head.kind) {
    case StoreKind::kRegionBegin:
      return design_.region_begin(id_, head.region, when, resume_of_head());
    case StoreKind::kRegionEnd:
      return design_.region_end(head.asked, id_, head.region, when, resume_of_head());
    case StoreKind::kFenceRegions:
      return design_.fence_regions(id_, when, resume_of_head());
    default:
      return design_.context_switch(id_, when, resume_of_head());
  }
}

void StoreQueueHead::count_wait(const StoreEntry& head, Slot until, Cause cause) {
  if (profile_ != nullptr) {
    profile_->waited_at_head(head.number, head.waiting_since, until, cause);
  }
  count_wait(head.waiting_since, until, cause);
}

void StoreQueueHead::count_wait(Slot from, Slot until, Cause cause) {
  if (until <= from || (faults_.fence_waits && cause == Cause::kFence)) return;
  if (StageLog* const stages = program_events_.stages()) {
    stages->add({.stage = Stage::kStall,
                 .detail = static_cast<std::uint8_t>(cause),
                 .unit = id_,
                 .at = {clock_.time(from), clock_.time(until)}});
  }
  waits_.add(from, until, cause);
}

// Counts a wait for a release. The order of its parts doesn't matter.
void StoreQueueHead::count_acquisition(const StoreEntry& head, Slot until, Cause cause) {
  const Synchronisation::Release& release = synchronisation_.latest_release(head.object);
  const RecentWaits::Parts parts = waits_behind(release, head.waiting_since, until);
  if (profile_ != nullptr) {
    const auto& [queue, released] = release;
    profile_->acquired_at_head(head.number, head.waiting_since, until, cause,
                               queue == nullptr ? nullptr : queue->profile(), released);
  }
  Slot from = head.waiting_since;
  const auto count = [&](Slot slots, Cause of_part) {
    count_wait(from, from + slots, of_part);
    from += slots;
  };
  count(parts.fence, Cause::kFence);
  count(parts.commit, Cause::kCommit);
  count(parts.stores, Cause::kStoreQueue);
  count(until - from, cause);
}

RecentWaits::Parts waits_behind(const Synchronisation::Release& release, Slot from, Slot until) {
  const Slot begin = std::max(from, release.retired);
  if (release.queue == nullptr || begin >= until) return {};
  return release.queue->waits().parts(begin, until);
}

// Cancels the head's wait. A lock that the head has acquired stays acquired, although the entry has
// not left the queue.
void StoreQueueHead::clear_wait() {
  if (stores_.empty()) return;
  const StoreEntry& head = stores_.front();
  switch (head.kind) {
    case StoreKind::kAcquire:
    case StoreKind::kAtomicStore:
    case StoreKind::kLocked:
      if (has_acquired(head)) acquisitions_.acquired(head.synchronisation);
      synchronisation_.forget(head.object, resume_of_head());
      return;
    default:
      return;
  }
}

namespace {

// Names of store kinds, in the order of StoreKind.
constexpr std::string_view kKinds[] = {
    "a store",        "a non-temporal store", "an atomic store", "a flush",   "a fence",
    "a full fence",   "a locked instruction", "an acquisition",  "a release", "a region's begin",
    "a region's end", "a fence for regions",  "a context switch"};

// Describes the event that resumes an entry at its current step.
std::string_view awaited(const StoreEntry& head) {
  switch (head.step) {
    case Step::kAcquired:
      return "for its turn";
    case Step::kInTime:
    case Step::kOffered:
      if (head.asked == LayerAsked::kNone) return "for its time";
      return head.asked == LayerAsked::kAtomicity ? "for the atomicity layer"
                                                  : "for the ordering layer";
    case Step::kAllowed:
      return "for the atomicity layer or a miss register";
    default:
      return "for the design";
  }
}

}  // namespace

std::string StoreQueueHead::waiting_for(const StoreEntry& head) {
  const auto kind = static_cast<std::size_t>(head.kind);
  return fmt::format("{}, waits {}", kKinds[kind], head.waits ? awaited(head) : "for its line");
}

void StoreQueueHead::roll_back(Slot restart) {
  clear_wait();
  const auto notify = [this](std::uint64_t address, std::uint32_t bytes) {
    program_events_.stored(Line::of(address), trace::kExternalSite);
    design_.restored(id_, address, bytes);
  };
  if (!stores_.empty()) {
    const StoreEntry& head = stores_.front();
    // A non-temporal store becomes visible before it leaves the queue.
    const bool visible = head.kind == StoreKind::kNonTemporal && head.step == Step::kSent;
    if (head.asked != LayerAsked::kNone && !visible) notify(head.address, head.size);
  }
  speculative_stores_.roll_back(id_, notify);
  stores_.forget(restart);
  region_in_effect_ = 0;
  acquisitions_.forget_notifications();
  draining_regions_.clear();
}

}  // namespace pmemsim
