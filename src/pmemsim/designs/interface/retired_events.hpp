// The events that the precompute layer receives: retired hints and stores, and lines that leave the
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
  std::uint32_t object;             // the thread's number for the object
  std::uint64_t address;            // address of the PM that will be written; 0: not known yet
  std::uint32_t bytes;              // number of bytes that will be written
  std::span<const std::byte> data;  // that many bytes, or none: not known yet
  std::uint32_t number = 0;         // position among the thread's hints, in program order
};

// A store of the program to DRAM or to PM, when it retires, or, with kWrittenStores, when it leaves
// the store queue. Locked instructions that write are
// stores, too. A store of more than 8 bytes arrives in segments, each with its own site, like the
// stores of compiled code. A store that crosses a line is split in the same way.
struct RetiredStore {
  static constexpr std::uint32_t kMostBytes = 8;
  CoreId core;
  std::uint64_t site;  // substitute for the program counter (piece_site())
  std::uint64_t address;
  std::span<const std::byte> value;
};

// Returns a substitute for the program counter of a segment of a store: a distinct number for each
// site and segment. Its lower bits may index a table.
constexpr std::uint64_t piece_site(std::uint32_t site, std::uint32_t segment) {
  return mix(std::uint64_t{segment} << 32 | site);
}

// The way in which a line of PM left the caches.
enum class WriteBack : std::uint8_t {
  kFlush,
  kEviction,
  kSent,  // sent past the caches by the design (CachePort::mark_clean)
};

}  // namespace pmemsim
