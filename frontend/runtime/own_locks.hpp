// Recognises locks that the program has made itself of atomic variables, so that a simulation can
// give them to whoever comes first.
//
// 1. A lock is taken by an exchange or a compare-exchange that changes it, and given back by the
//    same thread, by a store or an update that makes it what it was. Meanwhile nobody writes to it.
// 2. While it is free, only who takes it and stores (which make it anew) write to it.
// 3. An instruction takes locks, or gives them back, or neither.
// 4. Instructions that access the same variable belong together: if one of their variables isn't a
//    lock, none is. (The counts of an object's users look like locks until two uses overlap.)
// 5. At least one of their variables has been taken by two threads, and none is taken in the end.
//
// So it is said of the instructions (trace::LockRole), when the recording is over.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// What has been seen of an atomic variable. All zero: nothing.
struct OwnLock {
  std::uint64_t free;    // its value while it is free
  std::uint32_t site;    // one of those that access it
  std::uint32_t holder;  // the thread's index, plus one; 0: it is free
  std::uint32_t taker;   // the last, plus one
  bool written;
};

// The site has accessed it. `before`: its bytes then; `after`: where they are now.
void note_atomic(OwnLock& lock, std::uint32_t site, std::uint32_t bytes, bool wrote,
                 const void* before, const void* after);
// Writes what the recording has shown into the site table.
void settle_lock_roles();

}  // namespace pmemsim::rt
