#include "pmemsim/machine/cpu/thread_synchronisation.hpp"

#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {
namespace {

constexpr unsigned kObjectShift = 32;
constexpr unsigned kKindShift = 60;
static_assert(trace::kMaxSyncObjects <= 1u << (kKindShift - kObjectShift));
static_assert(static_cast<unsigned>(trace::SyncKind::kSemaphorePost) < 1u << (64 - kKindShift));

// Returns the recorded kind for locks, conditions and semaphores. All other releases, such as those
// of atomic variables, only raise their version.
trace::SyncKind kind_of_release(const StoreEntry& entry) {
  if (entry.lock_role == trace::LockRole::kGivesBack) return trace::SyncKind::kMutexUnlock;
  const auto recorded = static_cast<trace::SyncKind>(entry.detail);
  const bool needed = trace::is_unlock(recorded) || recorded == trace::SyncKind::kConditionSignal ||
                      recorded == trace::SyncKind::kSemaphorePost;
  return entry.kind == StoreKind::kRelease && needed ? recorded : trace::SyncKind::kSignal;
}

}  // namespace

// The companion of a write lock matters only if the recorded order of locks applies.
bool ThreadSynchronisation::acquire(trace::SyncKind kind, std::uint64_t address,
                                    std::uint32_t object, std::uint32_t version,
                                    Completion resume) {
  if (order_ == LockOrder::kSimulated && trace::is_companion(kind, address)) return true;
  return objects_.acquire(kind, object, version, resume);
}

void ThreadSynchronisation::notify_acquisition(trace::SyncKind kind, std::uint64_t address,
                                               Slot slot) {
  const bool obtained = kind != trace::SyncKind::kWriteLock || trace::is_companion(kind, address);
  if (obtained) design_.synchronised(core_, kind, clock_.time(slot));
}

void ThreadSynchronisation::notify_waiting(std::uint64_t store, Slot slot) {
  while (!early_.empty() && early_.front().store <= store) {
    const EarlyAcquisition acquired = early_.front();
    early_.pop_front();
    notify_acquisition(acquired.kind, acquired.address, slot);
  }
}

void ThreadSynchronisation::release_once(const StoreEntry& entry, Slot slot) {
  if (entry.synchronisation > released_) release(entry, slot);
  released_ = std::max(released_, entry.synchronisation);
}

void ThreadSynchronisation::release(const StoreEntry& entry, Slot slot) {
  const trace::SyncKind kind = kind_of_release(entry);
  objects_.will_release(kind, entry.object, {&queue_, entry.eligible});
  const std::uint64_t packed = (static_cast<std::uint64_t>(kind) << kKindShift) |
                               (std::uint64_t{entry.object} << kObjectShift) | entry.version;
  events_.schedule(events_.now_or_later(clock_.time(slot)), Phase::kCore,
                   completion<&ThreadSynchronisation::release_now>(*this, packed));
}

void ThreadSynchronisation::release_now(std::uint64_t packed, Time now) {
  constexpr std::uint64_t kObjectMask = (std::uint64_t{1} << (kKindShift - kObjectShift)) - 1;
  objects_.release(static_cast<trace::SyncKind>(packed >> kKindShift),
                   static_cast<std::uint32_t>((packed >> kObjectShift) & kObjectMask),
                   static_cast<std::uint32_t>(packed), now);
}

}  // namespace pmemsim
