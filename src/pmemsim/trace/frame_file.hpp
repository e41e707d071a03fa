// The file under a Writer: compressing frames and appending them, index, footer, renaming.
//
// Knows neither exceptions nor the C++ library nor the heap, because the recording runtime uses it
// inside the user's program, whose heap it must not disturb. Everybody else uses Writer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::trace {

// Zstandard's level for frames; docs/trace_format.md tells how it was chosen.
inline constexpr int kCompressionLevel = 1;
// Where a file grows before it gets its own name.
inline constexpr char kPartialSuffix[] = ".partial";

// Room for one compressed frame of `raw_bytes`.
std::size_t stored_bound(std::size_t raw_bytes);

// Compresses `raw` with `context` (a ZSTD_CCtx) into `stored` and fills in the header's sizes and
// checksum; the rest of the header is the caller's. False if zstd fails.
bool compress_frame(void* context, const void* raw, std::size_t raw_bytes, void* stored,
                    std::size_t stored_capacity, FrameHeader& header);

// All functions that return int return 0 or an errno value.
class FrameFile {
 public:
  FrameFile() = default;
  FrameFile(const FrameFile&) = delete;
  FrameFile& operator=(const FrameFile&) = delete;
  ~FrameFile();  // abandons a file that isn't finished

  // Creates path + ".partial" and writes the header.
  int create(const char* path);
  int append(const FrameHeader& header, const void* stored);
  std::uint64_t frames() const { return frames_; }
  const FrameEntry& entry(std::uint64_t frame) const { return index_[frame]; }
  // Changes the thread of a frame that is already in the file.
  int renumber(std::uint64_t frame, std::uint32_t thread);
  // Writes index and footer, syncs, renames.
  int finish();
  // Async-signal-safe: unlinks the partial file. What is appended afterwards goes nowhere.
  void abandon() noexcept;

 private:
  static constexpr std::size_t kMaxPath = 4096;
  static constexpr std::uint64_t kMaxFrames = std::uint64_t{1} << 24;

  int write_all(const void* bytes, std::size_t count);

  char path_[kMaxPath] = {};
  char partial_[kMaxPath] = {};
  int descriptor_ = -1;
  std::uint64_t offset_ = 0;
  // Address space for kMaxFrames, of which only what is used becomes memory: the index never moves,
  // so that where the program's own mappings land doesn't depend on it.
  FrameEntry* index_ = nullptr;
  std::uint64_t frames_ = 0;
};

}  // namespace pmemsim::trace
