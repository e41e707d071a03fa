// Writes a .pmt file frame by frame: for importers and tests. (The recording runtime uses the layer
// below, frame_file.hpp.)
//
// The file grows under a temporary name beside the final one and is renamed by finish(), so that
// nothing half-written ever stands under the final name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/trace/format.hpp"
#include "pmemsim/trace/frame_file.hpp"

namespace pmemsim::trace {

class TraceFile;

class Writer {
 public:
  // Creates path + ".partial". Throws Error if that fails.
  explicit Writer(std::string path);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // removes the partial file unless finish() was called

  // Compresses and appends one frame of at most kMaxFrameBytes. Throws Error (disk full, ...).
  void frame(FrameKind kind, std::uint32_t thread, std::span<const std::byte> raw,
             std::uint64_t operations);

  // Appends a frame of another file, compressed as it is there.
  void frame(const FrameHeader& header, std::span<const std::byte> stored);

  // The same for all frames but those of one kind. Throws TraceError, too.
  void copy(const TraceFile& from, FrameKind but);

  // Writes index and footer, syncs, renames. The writer is of no use afterwards.
  void finish();

  // Async-signal-safe: unlinks the partial file (for a program that dies while being recorded).
  void abandon() noexcept;

 private:
  std::string path_;
  FrameFile file_;
  std::vector<std::byte> compressed_;
  void* context_ = nullptr;  // ZSTD_CCtx
};

}  // namespace pmemsim::trace
