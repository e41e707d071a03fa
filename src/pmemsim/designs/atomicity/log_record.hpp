// A log record in the format that hardware writes: a header, and up to seven lines of data (log
// entry collation: ATOM, HPCA 2017; LALEA, section II-B; ASAP, section 5.5 and figure 5a).
//
// The header's line, as bytes in PM:
//   - word 0: {valid entries: a bit each (8 bits), core (16), region (40)};
//   - from byte 8: the home addresses of the entries, as line numbers of 6 bytes;
//   - from byte 50: the region's position in the order of commits, 6 bytes (redo logs; 0: not the
//     last record of a region, or not closed);
//   - from byte 56: the record's number in its region, 4 bytes;
//   - from byte 60: a check over all of these, 4 bytes.
// The sources don't say what happens if a crash occurs while a header is being written, word by
// word. With the check, such a header is ignored.
//
// Where entries don't follow their header (LALEA, figure 2b), a second line, in the same bank,
// contains their locations:
//   - word 0 as above, with the count of valid entries in its low bits;
//   - from byte 8: the entries' locations, and the location of the core's previous record; these
//     are line numbers from the beginning of the log, plus 1, of 6 bytes (0: none);
//   - from byte 60: a check, 4 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/interface/region_id.hpp"

namespace pmemsim {

inline constexpr std::uint32_t kRecordEntries = 7;
inline constexpr std::uint32_t kRecordLines = 1 + kRecordEntries;

// Logs are located beyond all addresses that a program can have.
inline constexpr std::uint64_t kLogBase = std::uint64_t{1} << 55;

namespace log_bytes {

inline constexpr std::size_t kLineNumber = 6;

inline void put(LineData& data, std::size_t at, std::uint64_t value, std::size_t bytes) {
  std::memcpy(data.data() + at, &value, bytes);
}
inline std::uint64_t get(const LineData& data, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, data.data() + at, bytes);
  return value;
}
inline std::uint64_t tag(std::uint8_t low, CoreId core, std::uint64_t region) {
  return low | std::uint64_t{core} << 8 | region << 24;
}

}  // namespace log_bytes

struct LogHeader {
  CoreId core = 0;
  std::uint64_t region = 0;
  std::uint8_t valid = 0;  // bit i: entry i is persistent
  std::array<Line, kRecordEntries> homes{};
  std::uint64_t commit_order = 0;
  std::uint32_t record = 0;

  bool operator==(const LogHeader&) const = default;

  LineData bytes() const;
  // Returns the header in the line; it has no valid entries if the check is wrong.
  static LogHeader of(const LineData& data);
};

// The second line of a header.
struct LogLinks {
  std::array<std::optional<Line>, kRecordEntries> entries;
  std::optional<Line> previous;  // the header of the core's previous record

  LineData bytes(const LogHeader& header) const;
  // Returns nothing if the line isn't the second one of that header, or if its check is wrong.
  static std::optional<LogLinks> of(const LineData& data, const LogHeader& header);
};

// A header that survives a crash in a persistent buffer, and the location that it would have been
// written to.
struct BufferedHeader {
  Line place;
  LineData header;
  LineData links{};  // its second line, if headers have one
};

}  // namespace pmemsim
