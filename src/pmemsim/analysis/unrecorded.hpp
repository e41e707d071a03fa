// Detection of persistent memory that has changed without a recorded store. Code that isn't
// instrumented, a signal handler, another process or the kernel can change it.
//
//   1  The contents of memory when recording ended (contents.hpp) are compared with the result of
//      the image and the recorded stores.
//   2  A byte that was stored to must have the last value that any of the threads has stored to it.
//      The order of racing stores is not needed. Any other byte must have the image's value.
//   3  Therefore a change is missed if a recorded store has covered it, or if it did not change the
//      value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pmemsim::trace {

class TraceFile;

struct Unrecorded {
  struct Range {
    std::uint64_t begin, end;  // addresses of the first changed byte, and after the last one
    bool operator==(const Range&) const = default;
  };
  static constexpr std::size_t kMostRanges = 16;

  std::uint64_t bytes = 0;    // number of changed bytes
  std::uint64_t places = 0;   // number of changed ranges; adjacent changed words are one range
  std::vector<Range> lowest;  // the ranges with the lowest addresses, at most kMostRanges
};

// Compares the recording with the file of final contents. Throws TraceError.
Unrecorded find_unrecorded(const TraceFile& trace, const std::string& contents);

// Writes the changes, if there are any, into the metadata of a finished recording. On an Error
// (disk full, ...) the recording is unchanged.
void store_unrecorded(const std::string& path, const std::string& contents);

}  // namespace pmemsim::trace
