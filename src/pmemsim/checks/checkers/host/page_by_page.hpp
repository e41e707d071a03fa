// Has memory brought in page by page.
//
// Kernels bring in the pages around one that is read, too, unless a userfaultfd watches the memory,
// if only by name. It must be made by the memory's own process: another one is stopped as it comes
// back from mapping the memory, makes one, and goes on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace pmemsim {

// False: it can't.
bool watch_by_userfaultfd(int file, std::uint64_t begin, std::uint64_t size);

// Another process's `thread` waits in a call that maps so many bytes, which `let_go` lets go on. A
// file that must be open as long as the memory is to be watched; -1: it isn't, so that more pages
// seem to be used than are.
int bring_in_page_by_page(pid_t thread, pid_t process, std::uint64_t size,
                          const std::function<void()>& let_go);

}  // namespace pmemsim
