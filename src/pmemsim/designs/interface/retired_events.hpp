// What the precompute layer is told of: hints and stores that retire, and lines that leave the
// caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pmemsim/common/mix.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

// A pre-execution request of the program (Janus, table 2).
struct Hint {
  trace::HintKind kind;
  std::uint32_t object;             // the thread's number for it
  std::uint64_t address;            // of the PM that will be written; 0: not known yet
  std::uint32_t bytes;              // that will be written
  std::span<const std::byte> data;  // as many, or none: not known yet
  std::uint32_t number = 0;         // of the thread's hints, in program order
};

// A store of the program, to DRAM or to PM, as it retires. Locked instructions that write are
// stores, too. What stores more than 8 bytes comes in pieces, each with a site of its own, as the
// stores of compiled code have it; so does what lies in two lines.
struct RetiredStore {
  static constexpr std::uint32_t kMostBytes = 8;
  CoreId core;
  std::uint64_t site;  // stands for the program counter (piece_site())
  std::uint64_t address;
  std::span<const std::byte> value;
};

// Stands for the program counter of a piece of a store: a number of its own for each site and
// piece, whose lower bits may index a table.
constexpr std::uint64_t piece_site(std::uint32_t site, std::uint32_t piece) {
  return mix(std::uint64_t{piece} << 32 | site);
}

// How a line of PM has left the caches.
enum class WriteBack : std::uint8_t {
  kFlush,
  kEviction,
  kSent,  // past them, by the design (CachePort::mark_clean)
};

}  // namespace pmemsim
