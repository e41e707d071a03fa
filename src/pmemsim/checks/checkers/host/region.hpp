// A region of PM in the command line of a checker's host, and the parts of files that contain data.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pmemsim {

struct HostRegion {
  std::string image;  // File to which pmemsim writes the image; no other process changes it
  std::uint64_t recorded_at;
  std::size_t size;
  std::string file;  // File of a program that checks; empty: a file in memory
};

inline constexpr std::size_t kHostPageBytes = 4096;

// Returns the next offset from `at` on at which the file has data (SEEK_DATA) or a hole
// (SEEK_HOLE); its size if there is none.
inline std::size_t next_part(int file, std::size_t at, int what, std::size_t size) {
  const off_t found = lseek(file, static_cast<off_t>(at), what);
  return found < 0 ? size : std::min(static_cast<std::size_t>(found), size);
}

// Calls visit(offset, size) for each page with data; the last one may be shorter.
template <class Visit>
void for_each_page_of(int file, std::size_t size, Visit&& visit) {
  for (std::size_t at = next_part(file, 0, SEEK_DATA, size); at < size;) {
    const std::size_t end = next_part(file, at, SEEK_HOLE, size);
    for (; at < end; at += kHostPageBytes) visit(at, std::min(kHostPageBytes, end - at));
    at = next_part(file, end, SEEK_DATA, size);
  }
}

}  // namespace pmemsim
