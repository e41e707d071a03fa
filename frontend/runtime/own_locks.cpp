#include "own_locks.hpp"

#include "objects.hpp"
#include "reserved_memory.hpp"
#include "sites.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

using trace::LockRole;
using trace::SiteKind;

// The sites of a group (rule 4) form a tree; the root has the properties of the whole group.
struct AtomicSite {
  std::uint32_t parent;  // parent's site; 0: this site is the root
  LockRole role;
  bool refuted, shared;  // valid at the root. refuted: not sites of locks; shared: two threads have
                         // taken a lock
};
AtomicSite* atomic_sites = nullptr;  // index: site

std::uint32_t root_of(std::uint32_t site) {
  while (const std::uint32_t parent = atomic_sites[site].parent) {
    if (const std::uint32_t above = atomic_sites[parent].parent) atomic_sites[site].parent = above;
    site = parent;
  }
  return site;
}

void join(std::uint32_t one, std::uint32_t other) {
  one = root_of(one);
  other = root_of(other);
  if (one == other) return;
  AtomicSite& root = atomic_sites[one];
  AtomicSite& joined = atomic_sites[other];
  joined.parent = one;
  root.refuted |= joined.refuted;
  root.shared |= joined.shared;
}

void refute(std::uint32_t site) { atomic_sites[root_of(site)].refuted = true; }

void give_role(std::uint32_t site, LockRole role) {
  LockRole& has = atomic_sites[site].role;
  if (has != LockRole::kNone && has != role) refute(site);
  has = role;
}

void take(OwnLock& lock, std::uint32_t site, std::uint64_t before) {
  const std::uint32_t thread = self->index + 1;
  give_role(site, LockRole::kTakes);
  if (lock.taker != 0 && lock.taker != thread) atomic_sites[root_of(site)].shared = true;
  lock.free = before;
  lock.holder = lock.taker = thread;
}

void release_lock(OwnLock& lock, std::uint32_t site, std::uint64_t after) {
  give_role(site, LockRole::kGivesBack);
  if (after != lock.free) refute(site);
  lock.holder = 0;
}

void note_write(OwnLock& lock, std::uint32_t site, std::uint64_t before, std::uint64_t after) {
  const bool stores = sites[site].kind == static_cast<std::uint8_t>(SiteKind::kAtomicStore);
  const bool may_take = sites[site].detail == static_cast<std::uint8_t>(LockRole::kTakes);
  if (lock.holder == self->index + 1) {
    release_lock(lock, site, after);
  } else if (lock.holder == 0 && may_take) {
    take(lock, site, before);
  } else if (lock.holder == 0 && stores) {
    // The first store may release a lock taken before the recording began.
    if (lock.written) give_role(site, LockRole::kOther);
  } else {
    refute(site);
  }
  lock.written = true;
}

LockRole settled_role(std::uint32_t site) {
  if (atomic_sites == nullptr) return LockRole::kNone;
  const AtomicSite& root = atomic_sites[root_of(site)];
  if (root.refuted || !root.shared) return LockRole::kNone;
  const LockRole role = atomic_sites[site].role;
  return role != LockRole::kNone ? role : LockRole::kOther;
}

}  // namespace

void note_atomic(OwnLock& lock, std::uint32_t site, std::uint32_t bytes, bool wrote,
                 const void* before, const void* after) {
  if (atomic_sites == nullptr) {
    atomic_sites = static_cast<AtomicSite*>(allocate(trace::kMaxSites * sizeof(AtomicSite)));
  }
  if (lock.site == 0) lock.site = site;
  join(lock.site, site);
  if (!wrote) return;
  std::uint64_t was = 0, is = 0;
  if (bytes > sizeof(is)) return refute(site);
  std::memcpy(&was, before, bytes);
  std::memcpy(&is, after, bytes);
  note_write(lock, site, was, is);
}

void assign_lock_roles() {
  for_each_atomic([](const AtomicVariable& atomic) {
    if (atomic.own_lock.holder != 0) refute(atomic.own_lock.site);
  });
  for (std::uint32_t site = trace::kBuiltinSites; site < site_count; ++site) {
    if (!trace::is_atomic(static_cast<SiteKind>(sites[site].kind))) continue;
    sites[site].detail = static_cast<std::uint8_t>(settled_role(site));
  }
}

}  // namespace pmemsim::rt
