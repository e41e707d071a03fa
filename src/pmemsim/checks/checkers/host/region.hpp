// A region of PM as a checker's host is told of it on its command line, and the parts of files that
// have bytes of their own.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pmemsim {

struct HostRegion {
  std::string image;  // the file that pmemsim writes the image to, which nobody else changes
  std::uint64_t recorded_at;
  std::size_t size;
  std::string file;  // of a program that checks; empty: one in memory
};

inline constexpr std::size_t kHostPageBytes = 4096;

// Where from `at` on a file has bytes of its own (SEEK_DATA) or none (SEEK_HOLE); its size if
// nowhere.
inline std::size_t next_part(int file, std::size_t at, int what, std::size_t size) {
  const off_t found = lseek(file, static_cast<off_t>(at), what);
  return found < 0 ? size : std::min(static_cast<std::size_t>(found), size);
}

// Calls visit(where, how many) for pages, or less at the end, that have bytes of their own.
template <class Visit>
void for_each_page_of(int file, std::size_t size, Visit&& visit) {
  for (std::size_t at = next_part(file, 0, SEEK_DATA, size); at < size;) {
    const std::size_t end = next_part(file, at, SEEK_HOLE, size);
    for (; at < end; at += kHostPageBytes) visit(at, std::min(kHostPageBytes, end - at));
    at = next_part(file, end, SEEK_DATA, size);
  }
}

}  // namespace pmemsim
