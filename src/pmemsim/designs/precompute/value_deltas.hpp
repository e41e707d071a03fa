// What a write differs in from the last one of its path: the second of the predictors that PMWeaver
// names as ones that it could take in (VII: "address-value-delta based prediction can augment
// PMWeaver to calculate next address/data predictions from previous predictions").
//
//   1  An entry of the prediction table has the last write that its path was learnt from.
//   2  Of a write whose address or chunks don't stand in the store history, these are the last
//      ones and a difference; the difference is what is learnt. [Open: from the last write, not
//      from a prediction that may never be written]
//   3  The first write of a path makes an entry that predicts nothing yet. [Open]
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/designs/precompute/write_pattern.hpp"

namespace pmemsim {

// What was written, by chunks.
struct LastWrite {
  Line line;
  std::array<std::uint32_t, kChunksALine> chunks{};

  static LastWrite of(Line line, const LineData& data) {
    LastWrite write{.line = line};
    for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
      write.chunks[chunk] = chunk_of(data, chunk);
    }
    return write;
  }
};

struct ValueDeltas {
  bool address = false;    // whether the address is so predicted
  ChunkMask chunks = 0;    // chunks that are
  std::uint64_t line = 0;  // lines from the last one, modulo 2^64
  std::array<std::uint32_t, kChunksALine> values{};
  bool operator==(const ValueDeltas&) const = default;

  bool any() const { return address || chunks != 0; }

  static ValueDeltas between(const LastWrite& last, const LastWrite& now, bool address,
                             ChunkMask chunks) {
    ValueDeltas deltas{.address = address, .chunks = chunks};
    if (address) deltas.line = now.line.number - last.line.number;
    for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
      if ((chunks >> chunk & 1) == 0) continue;
      deltas.values[chunk] = now.chunks[chunk] - last.chunks[chunk];
    }
    return deltas;
  }
};

}  // namespace pmemsim
