// The file layer below Writer: compresses and appends frames, writes index and footer, renames the
// file.
//
// This layer uses no exceptions, no C++ library and no heap. The recording runtime uses it inside
// the user's program, whose heap must not change. All other code uses Writer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::trace {

// Zstandard's compression level for frames; docs/reference/trace_format.md gives the reasons.
inline constexpr int kCompressionLevel = 1;
// Suffix of a file's name until it is complete.
inline constexpr char kPartialSuffix[] = ".partial";

// Returns the size of a buffer for one compressed frame of `raw_bytes`.
std::size_t stored_bound(std::size_t raw_bytes);

// Compresses `raw` with `context` (a ZSTD_CCtx) into `stored`, and fills in the header's sizes and
// checksum. The caller fills in the rest of the header. Returns false if zstd fails.
bool compress_frame(void* context, const void* raw, std::size_t raw_bytes, void* stored,
                    std::size_t stored_capacity, FrameHeader& header);

// A file of frames. All functions that return int return 0 or an errno value.
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
  // Reads the compressed bytes of a frame that is already in the file.
  int read(std::uint64_t frame, void* stored) const;
  // Changes the thread of a frame that is already in the file.
  int renumber(std::uint64_t frame, std::uint32_t thread);
  // Writes index and footer, syncs and renames the file.
  int finish();
  // Unlinks the partial file; async-signal-safe. Frames that are appended afterwards are lost.
  void abandon() noexcept;

 private:
  static constexpr std::size_t kMaxPath = 4096;
  static constexpr std::uint64_t kMaxFrames = std::uint64_t{1} << 24;

  int write_all(const void* bytes, std::size_t count);

  char path_[kMaxPath] = {};
  char partial_[kMaxPath] = {};
  int descriptor_ = -1;
  std::uint64_t offset_ = 0;
  // Address space for kMaxFrames entries; only used pages take memory. The index never moves, so
  // that the addresses of the program's own mappings don't depend on the number of frames.
  FrameEntry* index_ = nullptr;
  std::uint64_t frames_ = 0;
};

}  // namespace pmemsim::trace
