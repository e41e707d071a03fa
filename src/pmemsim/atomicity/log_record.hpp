// A log record as hardware writes it: a header line, then up to seven lines of data (log entry
// collation: ATOM, HPCA 2017; LALEA, section II-B; ASAP, section 5.5 and figure 5a).
//
// The header, as bytes in PM: word 0 is {valid entries: a bit each (8 bits), core (16), region
// (40)}; words 1 to 7 are the home addresses of the entries.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "pmemsim/core/units.hpp"
#include "pmemsim/mem/image.hpp"

namespace pmemsim {

inline constexpr std::uint32_t kRecordEntries = 7;
inline constexpr std::uint32_t kRecordLines = 1 + kRecordEntries;
inline constexpr std::uint8_t kAllEntriesValid = (1u << kRecordEntries) - 1;

// A header that a crash leaves in a persistent buffer, and where it would have been written.
struct BufferedHeader {
  Line place;
  LineData header;
};

struct LogHeader {
  CoreId core = 0;
  std::uint64_t region = 0;
  std::uint8_t valid = 0;  // bit i: entry i is persistent
  std::array<Line, kRecordEntries> homes{};

  LineData bytes() const {
    std::array<std::uint64_t, 8> words{valid | std::uint64_t{core} << 8 | region << 24};
    for (std::size_t i = 0; i < homes.size(); ++i) words[1 + i] = homes[i].address();
    LineData data;
    std::memcpy(data.data(), words.data(), sizeof data);
    return data;
  }
  static LogHeader of(const LineData& data) {
    std::array<std::uint64_t, 8> words;
    std::memcpy(words.data(), data.data(), sizeof data);
    LogHeader header{static_cast<CoreId>(words[0] >> 8 & 0xffff),
                     words[0] >> 24,
                     static_cast<std::uint8_t>(words[0]),
                     {}};
    for (std::size_t i = 0; i < header.homes.size(); ++i) {
      header.homes[i] = Line::of(words[1 + i]);
    }
    return header;
  }
};

}  // namespace pmemsim
