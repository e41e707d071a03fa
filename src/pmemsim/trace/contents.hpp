// What persistent memory holds at the end, as the recorder leaves it in a file beside the recording
// for whoever compares it with what the recorded operations make of the image (unrecorded.hpp).
//
// The file is a list of ContentsRecord. Each stands for some pages; what comes later counts, since
// memory that is unmapped is written when that happens, and may be mapped again. Of pages that no
// record names nothing is known. No dependences, because the recorder shares this header.
#pragma once

#include <cstdint>

namespace pmemsim::trace {

enum class PagesAre : std::uint32_t {
  kZero = 0,
  kAsInImage = 1,  // in the recording's kImage frames
  kGiven = 2,      // the contents of one page follow, kImagePageBytes
};
inline constexpr std::uint32_t kPagesAre = 3;

struct ContentsRecord {
  std::uint64_t begin;  // where the trace has the first page
  std::uint32_t pages;
  PagesAre are;
};
static_assert(sizeof(ContentsRecord) == 16);

}  // namespace pmemsim::trace
