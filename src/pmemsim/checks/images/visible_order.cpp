#include "pmemsim/checks/images/visible_order.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pmemsim {

using trace::Operation;
using trace::SiteKind;

namespace {

constexpr trace::KindSet kKinds{
    SiteKind::kStore,        SiteKind::kNonTemporal, SiteKind::kAtomicLoad, SiteKind::kAtomicStore,
    SiteKind::kAtomicUpdate, SiteKind::kCopyLoad,    SiteKind::kCopyStore,  SiteKind::kFlush,
    SiteKind::kFence,        SiteKind::kSync};
constexpr trace::KindSet kKindsAndLoads{
    SiteKind::kLoad,        SiteKind::kStore,        SiteKind::kNonTemporal, SiteKind::kAtomicLoad,
    SiteKind::kAtomicStore, SiteKind::kAtomicUpdate, SiteKind::kCopyLoad,    SiteKind::kCopyStore,
    SiteKind::kFlush,       SiteKind::kFence,        SiteKind::kSync};

bool is_copy(const Operation& operation) {
  return operation.kind == SiteKind::kCopyLoad || operation.kind == SiteKind::kCopyStore;
}

}  // namespace

VisibleOrder::VisibleOrder(const trace::TraceFile& trace, Variation variation, Loads loads)
    : trace_(trace),
      races_(trace),
      variation_(std::move(variation)),
      kinds_(loads == Loads::kAll ? kKindsAndLoads : kKinds),
      versions_(trace.metadata().sync_objects) {
  for (std::uint32_t number = 0; number < trace.metadata().threads; ++number) {
    threads_.push_back(std::make_unique<Thread>(trace, number, races_, variation_.left_out));
    read(*threads_.back());
  }
}

void VisibleOrder::read(Thread& thread) const {
  const std::uint64_t before = thread.stream.position();
  do {
    thread.stream.skip_to(kinds_);
    thread.more = thread.stream.next(thread.operation);
  } while (thread.more && thread.left_out.leaves_out(thread.stream.position() - 1));
  thread.number = thread.more ? thread.stream.position() - 1 : thread.stream.position();
  thread.got += thread.stream.position() - before;
}

// Removes waits that are over.
bool VisibleOrder::awaits_race(Thread& thread) const {
  while (!thread.races.empty() && thread.races.front().number <= thread.number) {
    const trace::Races::Wait& wait = thread.races.front();
    const Thread& other = *threads_[wait.thread];
    if (other.more && other.number < wait.count) return true;
    thread.races = thread.races.subspan(1);
  }
  return false;
}

bool VisibleOrder::can_execute(Thread& thread) const {
  if (awaits_race(thread)) return false;
  const Operation& operation = thread.operation;
  return !trace::synchronises(operation) ||
         versions_[operation.object].number() >= trace::awaited_version(operation);
}

void VisibleOrder::release(const Operation& operation) {
  released_ = trace::synchronises(operation) && trace::releases(operation);
  if (released_) versions_[operation.object].release(operation.version);
}

// True if the thread has passed positions that other threads wait for.
bool VisibleOrder::passes_awaited_points(Thread& thread) {
  const std::size_t before = thread.awaited.size();
  while (!thread.awaited.empty() && thread.awaited.front() <= thread.number) {
    thread.awaited = thread.awaited.subspan(1);
  }
  return thread.awaited.size() < before;
}

// True if the thread continues its turn. `before` is the number of its last operation.
bool VisibleOrder::continues(Thread& thread, std::uint64_t before) const {
  if (!thread.more) return false;
  if (awaits_race(thread) || is_delayed(current_)) return false;
  if (is_copy(thread.operation) && thread.number == before + 1) return true;
  if (may_meet(thread.operation) || (released_ && ends_a_wait())) return false;
  return thread.got < turn_ends_;
}

// Implements rule 7 (visible_order.hpp).
bool VisibleOrder::is_delayed(std::uint32_t number) const {
  const SiteKind kind = threads_[number]->operation.kind;
  return number == variation_.delayed && (kind == SiteKind::kFlush || kind == SiteKind::kFence);
}

bool VisibleOrder::may_meet(const Operation& operation) const {
  if (!trace::synchronises(operation)) return false;
  return !has_waited_ || operation.kind != SiteKind::kSync || !trace::releases(operation);
}

bool VisibleOrder::waited() const {
  const bool takes = operation().kind == SiteKind::kAtomicUpdate &&
                     operation().detail == static_cast<std::uint8_t>(trace::LockRole::kTakes);
  const bool calls = operation().kind == SiteKind::kSync && !trace::releases(operation());
  return begins_turn_ && has_waited_ && (takes || calls);
}

bool VisibleOrder::ends_a_wait() const {
  return std::ranges::any_of(threads_, [&](const auto& thread) {
    return thread->waits && thread->more && can_execute(*thread);
  });
}

bool VisibleOrder::next() {
  begins_turn_ = false;
  if (begun_) {
    Thread& thread = *threads_[current_];
    const std::uint64_t before = thread.number;
    read(thread);
    if (passes_awaited_points(thread)) released_ = true;
    if (!continues(thread, before) && !choose()) return false;
  } else {
    begun_ = true;
    if (!choose()) return false;
  }
  release(operation());
  return true;
}

// Chooses the next thread. A thread that has waited gets at least the progress of the thread that
// ended its wait, and has priority.
bool VisibleOrder::choose() {
  const std::uint64_t now = threads_[current_]->got;
  Thread* chosen = nullptr;
  bool ended = true;
  has_waited_ = false;
  for (std::uint32_t number = 0; number < threads_.size(); ++number) {
    Thread& thread = *threads_[number];
    if (!thread.more) continue;
    ended = false;
    const bool waited = thread.waits;
    thread.waits = !can_execute(thread);
    if (thread.waits) continue;
    if (waited) thread.got = std::max(thread.got, now);
    if (chosen != nullptr && is_delayed(number)) continue;
    const bool better = chosen == nullptr || is_delayed(current_) || (waited && !has_waited_) ||
                        (waited == has_waited_ && thread.got < chosen->got);
    if (!better) continue;
    chosen = &thread;
    current_ = number;
    has_waited_ = waited;
  }
  if (chosen == nullptr) {
    if (ended) return false;
    throw trace::TraceError(fmt::format(
        "{}: the threads are deadlocked (`pmemsim trace verify` shows where); record it again",
        trace_.path()));
  }
  turn_ends_ = chosen->got + kTurn;
  begins_turn_ = true;
  return true;
}

}  // namespace pmemsim
