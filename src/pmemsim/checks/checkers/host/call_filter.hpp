// The system calls of a program that its watcher (program_watch.hpp) is told of, before they are
// done. The kernel stops their callers, whoever of the program's processes they are and however
// they call.
#pragma once

#include <cstdint>

namespace pmemsim {

// Beside a call of userfaultfd() that is the watcher's own, as an argument that it doesn't have.
inline constexpr std::uint64_t kWatchersOwn = 0x6d6973'6d656d70;

struct CallFilter {
  int listener;  // -1: there is none, and `errno` says why
  // Programs that would have had other rights than their caller haven't any more.
  bool takes_rights;
};

// From here on, for this process and all that it starts, until their ends.
CallFilter install_call_filter();

}  // namespace pmemsim
