// The contents of persistent memory at the end of a recording, in a file that the recorder writes
// beside the recording. They are compared with the result of the image and the recorded operations
// (unrecorded.hpp).
//
// The file is a list of ContentsRecord. Each record covers some pages. A later record overrides
// earlier ones: memory is written when it is unmapped, and may be mapped again. Pages that no
// record names are unknown. This header has no dependencies, because the recorder includes it.
#pragma once

#include <cstdint>

namespace pmemsim::trace {

enum class PagesAre : std::uint32_t {
  kZero = 0,
  kAsInImage = 1,  // unchanged from the recording's kImage frames
  kGiven = 2,      // the contents of one page follow, kImagePageBytes
};
inline constexpr std::uint32_t kPagesAre = 3;

struct ContentsRecord {
  std::uint64_t begin;  // address of the first page in the trace
  std::uint32_t pages;
  PagesAre are;
};
static_assert(sizeof(ContentsRecord) == 16);

}  // namespace pmemsim::trace
