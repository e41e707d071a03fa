// The sources of a write's address and data, which PMWeaver learns, and predicts by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

inline constexpr std::size_t kChunksALine = kLineBytes / 4;
// A set of a line's chunks: a bit each.
using ChunkMask = std::uint16_t;

// Bytes of the value that a store instruction stores.
struct ValueSource {
  std::uint64_t site = 0;
  std::uint32_t offset = 0;
  bool operator==(const ValueSource&) const = default;
};

inline std::uint32_t chunk_of(const LineData& data, std::size_t chunk) {
  std::uint32_t value;
  std::memcpy(&value, &data[chunk * sizeof value], sizeof value);
  return value;
}

struct WritePattern {
  ValueSource address;  // source of 8 bytes, an address within the line
  // If set, `address` is within another line, which has the address of the line at this word
  // (next_pointers.hpp).
  std::optional<std::uint8_t> next_pointer{};
  std::array<ValueSource, kChunksALine> chunks{};
  ChunkMask from_stores = 0;  // chunks that have a source
  ChunkMask zero = 0;         // chunks that are zero, which no store has to provide (V-D1)
  bool operator==(const WritePattern&) const = default;
};

}  // namespace pmemsim
