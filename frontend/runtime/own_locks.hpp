// Recognises locks that the program implements with atomic variables, so that a simulation can give
// them to the thread that requests them first.
//
// 1. A lock is taken by an exchange or a compare-exchange that changes it. The same thread releases
//    it, by a store or an update that restores its value. Meanwhile no thread writes to it.
// 2. While the lock is free, only two accesses write to it: a store, which initialises it, and the
//    access of the thread that takes it.
// 3. An instruction has the same role in all its executions: it takes locks, releases locks, or
//    does neither.
// 4. Instructions that access the same variable form a group: if one variable of a group isn't a
//    lock, none is. (Reference counts look like locks until two uses overlap.)
// 5. Two threads have taken at least one lock of the group, and every lock of the group is free at
//    the end of the recording.
//
// The result is stored as a property of the instructions (trace::LockRole), after the recording.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// The observed state of an atomic variable. All zero: no access was seen.
struct OwnLock {
  std::uint64_t free;    // its value while it is free
  std::uint32_t site;    // one of the sites that access it
  std::uint32_t holder;  // the holding thread's index, plus one; 0: it is free
  std::uint32_t taker;   // index of the last thread that took it, plus one
  bool written;
};

// Notes an access by the site. `before`: the variable's bytes before the access; `after`: the
// variable's address, with its bytes after the access.
void note_atomic(OwnLock& lock, std::uint32_t site, std::uint32_t bytes, bool wrote,
                 const void* before, const void* after);
// Writes the results into the site table.
void assign_lock_roles();

}  // namespace pmemsim::rt
