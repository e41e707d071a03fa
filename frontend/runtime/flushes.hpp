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
  kPrivate,  // private mapping of a file
  kShared,   // memory shared by processes, without a file
  kData,     // data of the program or a library
};
struct FlushedMemory {
  Range range;
  FlushedKind kind;
  std::uint64_t asked;   // address that the program requested but did not get; 0: there is none
  std::uint32_t source;  // offset into memory_sources: the file's path
  std::uint64_t flushes;
};
extern std::uint64_t flush_count;  // number of all flushes
inline constexpr std::size_t kFlushedMemoryCapacity = 4096;
extern List<FlushedMemory, kFlushedMemoryCapacity> flushed_memory;
void note_flush(const volatile void* address);

}  // namespace pmemsim::rt
