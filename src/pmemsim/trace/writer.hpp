// Writes a .pmt file frame by frame, for importers and tests. (The recording runtime uses the layer
// below, frame_file.hpp.)
//
// The file grows under a temporary name beside the final one, and finish() renames it. Therefore no
// incomplete file ever has the final name.
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

  // Appends a compressed frame of another file.
  void frame(const FrameHeader& header, std::span<const std::byte> stored);

  // Appends all frames of another file except those of one kind. Throws Error or TraceError.
  void copy(const TraceFile& from, FrameKind but);

  // Writes index and footer, syncs and renames the file. The writer can't be used afterwards.
  void finish();

  // Unlinks the partial file, for a program that is killed during recording; async-signal-safe.
  void abandon() noexcept;

 private:
  std::string path_;
  FrameFile file_;
  std::vector<std::byte> compressed_;
  void* context_ = nullptr;  // ZSTD_CCtx
};

}  // namespace pmemsim::trace
