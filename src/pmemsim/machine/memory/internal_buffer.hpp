// The inside of a memory module whose media reads and writes internal lines that are larger than
// the processor's lines. In Optane an internal line has 256 B, and small buffers precede the media.
// Each channel has one module.
//
// Rules:
//  1. The media does one operation at a time. A read occupies it for media_read_interval, a write
//     for media_write_interval; these two give its bandwidth. The data of a read are in the buffer
//     read_latency after its start.
//  2. A read of the media puts an internal line into the read buffer, in place of the oldest entry.
//     Later reads of the line's other parts are served from the read buffer, as soon as the data
//     have arrived.
//  3. A write goes into the write buffer. It is added to its internal line if that line is in the
//     buffer. Otherwise, once the buffer is full, it replaces a line chosen at random, which is
//     written to the media as a whole: write amplification. Parts that the replaced line lacks are
//     read first, within the time of the write. The read buffer drops the internal line of the new
//     write.
//  4. No write is taken while one line is being written to the media and another line waits to be
//     written.
//  5. Reads are served from the write buffer if it contains their line, but not earlier than
//     read_after_write_latency after the last write to its internal line ("read after persist" in
//     the paper of Xiang et al.).
//  6. Wear levelling: the module migrates a block of wear_block bytes once it has received
//     wear_writes internal lines' worth of writes to it. The media is occupied for wear_latency.
//     Wang et al. ("Characterizing and Modeling Non-Volatile Memory Systems", MICRO 2020) measured
//     these stalls as the tail of overwrites.
//
// Random replacement and the two buffers are findings of Xiang et al. about first-generation Optane
// modules ("Characterizing the Performance of Intel Optane Persistent Memory", EuroSys 2022). The
// internal line is a finding of Yang et al. ("An Empirical Guide to the Behavior and Use of
// Scalable Persistent Memory", FAST 2020). Write bandwidth depends only on the number of media
// writes, and not on the reads that complete them. The effective write ratio in the paper of Yang
// et al. shows this (section 5.1). Not modelled: the address indirection table.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/written_lines.hpp"

namespace pmemsim {

class InternalBuffer {
 public:
  explicit InternalBuffer(const MemoryParameters& parameters);

  bool present() const { return !writes_.empty(); }

  // Returns how long it takes until the data of a read that begins now are in the buffer.
  Picoseconds read(Line line, Time now);
  // Returns the time from which a write is taken (rule 4).
  Time takes_writes_at() const { return media_free_ - write_interval_; }
  void write(Line line, Time now);

  std::uint64_t media_lines_read() const { return media_lines_read_; }
  std::uint64_t media_lines_written() const { return media_lines_written_; }
  std::uint64_t migrations() const { return migrations_; }
  // Returns the number of media writes of the most written internal line.
  std::uint64_t most_line_writes() const { return written_lines_.most(); }
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
    Time readable{};          // earliest time at which a read of the line is served
  };

  std::uint64_t internal(Line line) const { return line.number >> part_bits_; }
  std::uint64_t part(Line line) const {
    return std::uint64_t{1} << (line.number & ((std::uint64_t{1} << part_bits_) - 1));
  }
  ReadLine* find_read(std::uint64_t number);
  WrittenLine* find_written(std::uint64_t number);
  Time use_media(Time now, Picoseconds interval);
  void wear(Line line, Time now);
  std::uint32_t random_slot();

  const unsigned part_bits_;
  const Picoseconds read_latency_, read_interval_, write_interval_, read_after_write_latency_;
  const std::uint64_t lines_of_wear_block_, most_wear_;  // 0: no wear levelling
  const Picoseconds wear_latency_;
  std::vector<ReadLine> reads_;  // ring buffer
  std::size_t oldest_read_ = 0;
  std::vector<WrittenLine> writes_;
  std::size_t written_ = 0;  // number of slots in use, which are the first ones
  Time media_free_{};
  std::uint64_t random_ = 0x9E3779B97F4A7C15;
  std::unordered_map<std::uint64_t, std::uint64_t>
      wear_;                    // lines written since migration, by block
  WrittenLines written_lines_;  // by internal line
  std::uint64_t media_lines_read_ = 0, media_lines_written_ = 0, migrations_ = 0;
};

}  // namespace pmemsim
