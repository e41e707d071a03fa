// The inside of a module whose media is read and written in internal lines that are larger than the
// processor's: Optane's 256 bytes, with the small buffers before them. One for each channel.
//
// Rules:
//  1. The media does one thing at a time. A read takes it for media_read_interval, a write for
//     media_write_interval; both say what bandwidth it has. A read's data are in the buffer
//     read_latency after it began.
//  2. A read of the media puts an internal line into the read buffer, over the one that came first.
//     The line's other parts are then read from there, as soon as they have come.
//  3. A write goes into the write buffer, to the parts of its internal line that are there, or over
//     a line chosen at random, which is written to the media as a whole: write amplification. What
//     it lacks is read first, in the write's own time. The line written over is gone from the read
//     buffer.
//  4. While one line is being written to the media and another one waits for that, no write is
//     taken.
//  5. Reads find what the write buffer has of them.
//
// Random replacement and the two buffers are what Xiang et al. found in first-generation Optane
// modules ("Characterizing the Performance of Intel Optane Persistent Memory", EuroSys 2022), the
// internal line what Yang et al. found ("An Empirical Guide to the Behavior and Use of Scalable
// Persistent Memory", FAST 2020). That write bandwidth follows from how many media writes there are
// alone, and not from the reads that complete them, is what the latter's effective write ratio
// shows (section 5.1). The address indirection table isn't modelled, nor wear-leveling.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {

class InternalBuffer {
 public:
  explicit InternalBuffer(const MemoryParameters& parameters);

  bool present() const { return !writes_.empty(); }

  // How long the data of a read that begins now are not yet in the buffer.
  Picoseconds read(Line line, Time now);
  // From when on a write is taken (rule 4).
  Time takes_writes_at() const { return media_free_ - write_interval_; }
  void write(Line line, Time now);

  std::uint64_t media_lines_read() const { return media_lines_read_; }
  std::uint64_t media_lines_written() const { return media_lines_written_; }
  std::uint64_t line_bytes() const { return kLineBytes << part_bits_; }

 private:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  struct ReadLine {
    std::uint64_t number = kNone;
    Time ready{};
  };
  struct WrittenLine {
    std::uint64_t number = kNone;
    std::uint64_t parts = 0;  // a bit for each of the processor's lines
  };

  std::uint64_t internal(Line line) const { return line.number >> part_bits_; }
  std::uint64_t part(Line line) const {
    return std::uint64_t{1} << (line.number & ((std::uint64_t{1} << part_bits_) - 1));
  }
  ReadLine* find_read(std::uint64_t number);
  WrittenLine* find_written(std::uint64_t number);
  Time use_media(Time now, Picoseconds interval);
  std::uint32_t random_slot();

  const unsigned part_bits_;
  const Picoseconds read_latency_, read_interval_, write_interval_;
  std::vector<ReadLine> reads_;  // a ring
  std::size_t oldest_read_ = 0;
  std::vector<WrittenLine> writes_;
  std::size_t written_ = 0;  // slots in use, the first ones
  Time media_free_{};
  std::uint64_t random_ = 0x9E3779B97F4A7C15;
  std::uint64_t media_lines_read_ = 0, media_lines_written_ = 0;
};

}  // namespace pmemsim
