// Flushes of memory that isn't persistent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "address_range.hpp"
#include "reserved_memory.hpp"

namespace pmemsim::rt {

enum class FlushedKind : std::uint8_t {
  kAnonymous,
  kHeap,
  kStack,
  kFile,
  kPrivate,  // mapping of a file
  kShared,   // by processes, but of no file
  kData,     // of the program, or a library
};
struct FlushedMemory {
  Range range;
  FlushedKind kind;
  std::uint64_t asked;  // where the program wanted it; 0: it is there, or it was left to the system
  std::uint32_t source;  // into memory_sources: the file's path
  std::uint64_t flushes;
};
extern std::uint64_t flush_count;  // all
inline constexpr std::size_t kMostFlushed = 4096;
extern List<FlushedMemory, kMostFlushed> flushed_memory;
void note_flush(const volatile void* address);

}  // namespace pmemsim::rt
