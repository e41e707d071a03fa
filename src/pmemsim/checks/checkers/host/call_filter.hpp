// The system calls of a program that are reported to its watcher (program_watch.hpp) before they
// execute. The kernel stops the calling thread, in any of the program's processes and for any way
// of calling.
#pragma once

#include <cstdint>

namespace pmemsim {

// The watcher passes this value as second argument of its own calls of userfaultfd(), to mark them.
// The kernel ignores the argument.
inline constexpr std::uint64_t kWatchersOwn = 0x6d6973'6d656d70;

struct CallFilter {
  int listener;  // -1: there is none, and `errno` is the reason
  // True if setuid programs no longer get the rights of their owner.
  bool setuid_is_ignored;
};

// Installs the filter for this process and all that it starts, until their ends.
CallFilter install_call_filter();

}  // namespace pmemsim
