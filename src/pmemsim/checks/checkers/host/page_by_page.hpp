// Makes the kernel map memory page by page.
//
// A kernel also maps the neighbours of a page that is read, unless a userfaultfd is registered for
// the memory. The registration is enough: the userfaultfd doesn't have to report faults. The
// memory's own process must create the userfaultfd. If this is another process, three steps follow:
//
//   1  The process is stopped when its call that maps the memory returns.
//   2  It is made to create a userfaultfd.
//   3  It continues.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace pmemsim {

// Registers this userfaultfd for the memory. Returns false if this fails.
bool map_page_by_page(int file, std::uint64_t begin, std::uint64_t size);

// Has another process create a userfaultfd. Its `thread` is stopped in a call that maps `size`
// bytes, and `let_go` lets the call continue. Returns the userfaultfd, which must stay open as long
// as the memory is watched. Returns -1 on failure: the watcher then counts some pages as used that
// the process hasn't used.
int fault_in_page_by_page(pid_t thread, pid_t process, std::uint64_t size,
                          const std::function<void()>& let_go);

}  // namespace pmemsim
