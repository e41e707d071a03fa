// The difference of a write from the last one of its path. This is the second of the predictors
// that PMWeaver names as extensions (VII: "address-value-delta based prediction can augment
// PMWeaver to calculate next address/data predictions from previous predictions").
//
//   1  An entry of the prediction table has the last write that its path was learnt from.
//   2  If a write's address or chunks aren't in the store history, they are predicted as those of
//      the last write plus a learnt difference. [Open: from the last write, not from a prediction
//      that may never be written]
//   3  The first write of a path creates an entry that predicts nothing yet. [Open]
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/designs/precompute/write_pattern.hpp"

namespace pmemsim {

// A path's last write, by chunks.
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
  bool address = false;    // the address is predicted by a difference
  ChunkMask chunks = 0;    // chunks that are predicted by a difference
  std::uint64_t line = 0;  // difference in lines, modulo 2^64
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
