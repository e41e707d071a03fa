#include "pmemsim/designs/atomicity/log_record.hpp"

#include <bit>

#include <xxhash.h>

namespace pmemsim {
namespace {

constexpr std::size_t kHomes = 8, kCommitOrder = 50, kRecord = 56, kCheck = 60;
constexpr std::size_t kEntries = 8, kPrevious = 50;  // byte offsets in the second line

std::uint64_t check(const LineData& data) { return XXH32(data.data(), kCheck, 0); }
bool is_whole(const LineData& data) { return log_bytes::get(data, kCheck, 4) == check(data); }

// Converts locations in the log, counted from its beginning.
std::uint64_t packed(std::optional<Line> line) {
  return line ? line->number - kLogBase / kLineBytes + 1 : 0;
}
std::optional<Line> unpacked(std::uint64_t number) {
  if (number == 0) return {};
  return Line{kLogBase / kLineBytes + number - 1};
}

// Returns word 0 of a header's second line.
std::uint64_t links_tag(const LogHeader& header) {
  const auto valid_count = static_cast<std::uint8_t>(std::popcount(header.valid));
  return log_bytes::tag(valid_count, header.core, header.region);
}

}  // namespace

LineData LogHeader::bytes() const {
  using namespace log_bytes;
  LineData data{};
  put(data, 0, tag(valid, core, region), 8);
  for (std::size_t i = 0; i < homes.size(); ++i) {
    put(data, kHomes + i * kLineNumber, homes[i].number, kLineNumber);
  }
  put(data, kCommitOrder, commit_order, 6);
  put(data, kRecord, record, 4);
  put(data, kCheck, check(data), 4);
  return data;
}

LogHeader LogHeader::of(const LineData& data) {
  using namespace log_bytes;
  const std::uint64_t word = get(data, 0, 8);
  LogHeader header{.core = static_cast<CoreId>(word >> 8 & 0xffff),
                   .region = word >> 24,
                   .valid = static_cast<std::uint8_t>(word),
                   .commit_order = get(data, kCommitOrder, 6),
                   .record = static_cast<std::uint32_t>(get(data, kRecord, 4))};
  for (std::size_t i = 0; i < header.homes.size(); ++i) {
    header.homes[i] = {get(data, kHomes + i * kLineNumber, kLineNumber)};
  }
  if (!is_whole(data)) header.valid = 0;
  return header;
}

LineData LogLinks::bytes(const LogHeader& header) const {
  using namespace log_bytes;
  LineData data{};
  put(data, 0, links_tag(header), 8);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    put(data, kEntries + i * kLineNumber, packed(entries[i]), kLineNumber);
  }
  put(data, kPrevious, packed(previous), kLineNumber);
  put(data, kCheck, check(data), 4);
  return data;
}

std::optional<LogLinks> LogLinks::of(const LineData& data, const LogHeader& header) {
  using namespace log_bytes;
  if (get(data, 0, 8) != links_tag(header) || !is_whole(data)) return {};
  LogLinks links;
  for (std::size_t i = 0; i < links.entries.size(); ++i) {
    links.entries[i] = unpacked(get(data, kEntries + i * kLineNumber, kLineNumber));
  }
  links.previous = unpacked(get(data, kPrevious, kLineNumber));
  return links;
}

}  // namespace pmemsim
