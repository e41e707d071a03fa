#include "pmemsim/machine/cpu/synchronisation.hpp"

#include <utility>

#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {

using trace::SyncKind;

bool Synchronisation::arbitrated(SyncKind kind) const {
  return order_ == LockOrder::kSimulated && (trace::is_lock(kind) || trace::is_unlock(kind));
}

bool Synchronisation::includes_earlier_releases(SyncKind kind) const {
  return order_ == LockOrder::kSimulated &&
         (kind == SyncKind::kConditionSignal || kind == SyncKind::kSemaphorePost);
}

bool Synchronisation::acquire(SyncKind kind, std::uint32_t object, std::uint32_t version,
                              Completion resume) {
  if (!arbitrated(kind)) return acquire_version(object, version, resume);
  Object& lock = objects_[object];
  if (lock.waiters.empty() && try_lock(lock, kind)) return true;
  lock.waiters.push_back({version, kind, resume});
  ++waiting_;
  return false;
}

void Synchronisation::release(SyncKind kind, std::uint32_t object, std::uint32_t version,
                              Time now) {
  if (includes_earlier_releases(kind)) {
    objects_[object].version.release_up_to(version);
    return resume_satisfied(objects_[object], now);
  }
  if (!arbitrated(kind)) return release_version(object, version, now);
  Object& lock = objects_[released_object(kind, object)];
  if (kind == SyncKind::kReadUnlock) {
    --lock.readers;
  } else {
    lock.held = false;
  }
  grant_waiting(lock, now);
}

// The recording counts read unlocks on the companion object; the lock itself is the object before
// it.
std::uint32_t Synchronisation::released_object(SyncKind kind, std::uint32_t object) const {
  return kind == SyncKind::kReadUnlock && arbitrated(kind) ? object - 1 : object;
}

bool Synchronisation::try_lock(Object& lock, SyncKind kind) {
  if (lock.held) return false;
  if (kind == SyncKind::kReadLock) {
    ++lock.readers;
    return true;
  }
  if (lock.readers > 0) return false;
  lock.held = true;
  return true;
}

void Synchronisation::grant_waiting(Object& lock, Time now) {
  while (!lock.waiters.empty() && try_lock(lock, lock.waiters.front().kind)) {
    const Completion resume = lock.waiters.front().resume;
    lock.waiters.erase(lock.waiters.begin());
    --waiting_;
    resume(now);
  }
}

void Synchronisation::forget(std::uint32_t object, const Completion& resume) {
  waiting_ -= std::erase_if(objects_[object].waiters,
                            [&](const Waiter& waiter) { return waiter.resume == resume; });
}

bool Synchronisation::acquire_version(std::uint32_t object, std::uint32_t version,
                                      Completion resume) {
  Object& found = objects_[object];
  if (found.version.number() >= version) return true;
  found.waiters.push_back({version, SyncKind::kWait, resume});
  ++waiting_;
  return false;
}

void Synchronisation::release_version(std::uint32_t object, std::uint32_t version, Time now) {
  objects_[object].version.release(version);
  resume_satisfied(objects_[object], now);
}

void Synchronisation::resume_satisfied(Object& found, Time now) {
  // Resuming a waiter may release the same object again, so that satisfied waiters are removed
  // first.
  std::vector<Waiter> satisfied;
  std::erase_if(found.waiters, [&](const Waiter& waiter) {
    if (waiter.version > found.version.number()) return false;
    satisfied.push_back(waiter);
    return true;
  });
  waiting_ -= satisfied.size();
  for (const Waiter& waiter : satisfied) waiter.resume(now);
}

}  // namespace pmemsim
