// Makes the kernel map memory page by page.
//
// A kernel also maps the neighbours of a page that is read, unless a userfaultfd is registered for
// the memory (it need not report anything). The memory's own process must create the userfaultfd.
// If this is another process, it is stopped when it returns from mapping the memory, made to create
// a userfaultfd, and continued.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace pmemsim {

// Registers a userfaultfd for the memory. Returns false if this fails.
bool watch_by_userfaultfd(int file, std::uint64_t begin, std::uint64_t size);

// Has another process create a userfaultfd. Its `thread` is stopped in a call that maps `size`
// bytes, and `let_go` lets the call continue. Returns a file that must stay open as long as the
// memory is watched. Returns -1 on failure: more pages than used seem to be used then.
int fault_in_page_by_page(pid_t thread, pid_t process, std::uint64_t size,
                          const std::function<void()>& let_go);

}  // namespace pmemsim
