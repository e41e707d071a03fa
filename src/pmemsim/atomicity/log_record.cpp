#include "pmemsim/atomicity/log_record.hpp"

#include <xxhash.h>

namespace pmemsim {
namespace {

constexpr std::size_t kHomes = 8, kCommitOrder = 50, kRecord = 56, kCheck = 60;

std::uint64_t check(const LineData& data) { return XXH32(data.data(), kCheck, 0); }

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
  if (header.valid != 0 && get(data, kCheck, 4) != check(data)) header.valid = 0;
  return header;
}

}  // namespace pmemsim
