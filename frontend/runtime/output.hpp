// Output of the trace file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::trace {
class FrameFile;
}

namespace pmemsim::rt {

// The trace file that is being written (output.cpp), or nullptr.
extern trace::FrameFile* output_file;
void abandon_output();  // async-signal-safe

inline constexpr std::size_t kBufferBytes = 256 * 1024;
void open_output(const char* path);
std::uint8_t* take_buffer();
// Compresses and writes the buffer in the background; the caller must not use it any more.
void submit(trace::FrameKind kind, std::uint32_t thread, std::uint8_t* buffer, std::size_t bytes,
            std::uint64_t operations);
void return_buffer(std::uint8_t* buffer);
// Writes any number of bytes into frames of one kind.
class Stream {
 public:
  explicit Stream(trace::FrameKind kind) : kind_(kind) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { end_frame(); }
  void put(const void* bytes, std::size_t count);
  // Puts the next `bytes` bytes into one frame.
  void keep_together(std::size_t bytes);

 private:
  void end_frame();

  trace::FrameKind kind_;
  std::uint8_t* buffer_ = nullptr;
  std::size_t used_ = 0;
};
// Waits until everything submitted is written.
void drain_output();
// Calls visit(thread's index, begin, end) for all operations submitted so far, frame by frame.
void read_operations(void (*visit)(std::uint32_t, const std::uint8_t*, const std::uint8_t*));
// Gives the recorded threads consecutive numbers, in order of creation.
void finish_output(const std::uint32_t* thread_numbers);

}  // namespace pmemsim::rt
