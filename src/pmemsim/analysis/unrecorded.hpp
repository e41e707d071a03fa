// Persistent memory that has changed without a recorded store: by code that isn't instrumented, a
// signal handler, another process, the kernel.
//
//   1  Compared is what memory held when recording ended (contents.hpp) with what the image and the
//      recorded stores make of it.
//   2  A byte that is stored to must hold what one of the threads has stored there last, whichever:
//      of stores that race, nobody has to know the order. Any other byte must hold what the image
//      says.
//   3  So a change is missed if a recorded store has covered it, or if it left what was there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pmemsim::trace {

class TraceFile;

struct Unrecorded {
  struct Place {
    std::uint64_t begin, end;  // addresses of the first changed byte, and behind the last one
    bool operator==(const Place&) const = default;
  };
  static constexpr std::size_t kMostPlaces = 16;

  std::uint64_t bytes = 0;    // that have changed
  std::uint64_t places = 0;   // words that have, next to each other, are one
  std::vector<Place> lowest;  // at most kMostPlaces of them, by address
};

// Throws TraceError.
Unrecorded find_unrecorded(const TraceFile& trace, const std::string& contents);

// Writes what is found into the metadata of a finished recording, if there is anything. Throws
// Error (disk full, ...); the recording is then as it was.
void store_unrecorded(const std::string& path, const std::string& contents);

}  // namespace pmemsim::trace
