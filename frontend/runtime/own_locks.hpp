// Recognises locks that the program implements with atomic variables, so that a simulation can give
// them to the thread that requests them first.
//
// 1. A lock is taken by an exchange or a compare-exchange that changes it. The same thread releases
//    it, by a store or an update that restores its value. Meanwhile no thread writes to it.
// 2. While it is free, only the thread that takes it and stores (which initialise it) write to it.
// 3. An instruction takes locks, or releases them, or neither.
// 4. Instructions that access the same variable belong together: if one of their variables isn't a
//    lock, none is. (Reference counts look like locks until two uses overlap.)
// 5. At least one of their variables has been taken by two threads, and none is taken in the end.
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

// Notes an access of the site. `before`: the variable's bytes before it; `after`: their location
// now.
void note_atomic(OwnLock& lock, std::uint32_t site, std::uint32_t bytes, bool wrote,
                 const void* before, const void* after);
// Writes the results into the site table.
void assign_lock_roles();

}  // namespace pmemsim::rt
