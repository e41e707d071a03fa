// The mapping of lines to channels, banks and rows.
//
// Memory is divided into chunks: pages under page interleaving, lines under line interleaving.
// Chunk n is in channel n mod C, where C is the number of channels. Consecutive chunks alternate
// first between controllers, then between a controller's channels: channel c belongs to controller
// c mod controllers. Within a channel, m = n / C, the chunk is in bank m mod B of the channel's B
// banks (all ranks). Bank b belongs to rank b / banks_per_rank. The chunk is chunk m / B of that
// bank, whose bytes fill its rows one after the other. page_placement.hpp describes the placement
// of a program's pages.
//
// Hashing changes the channel or the bank by the XOR of all groups of higher bits (fold()):
//  - With channel_hashing, the channel is (n mod C) XOR fold(m), as in gem5 (xor_high_bit) and in
//    Intel's processors (Pessl et al., "DRAMA", USENIX Security 2016). If C isn't a power of two,
//    it is (n mod C + fold(m)) mod C.
//  - With bank_hashing, the bank is (m mod B) XOR fold(number of the row), which is
//    permutation-based interleaving (Zhang et al., MICRO 2000).
// Consecutive chunks remain in different channels and banks. Chunks at a distance of a power of two
// no longer share their channel and bank.
#pragma once

#include <cstdint>

#include "pmemsim/common/page_placement.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {

struct DeviceLocation {
  std::uint32_t channel = 0;
  std::uint32_t bank = 0;  // bank within the channel
  std::uint64_t row = 0;
};

class Mapping {
 public:
  explicit Mapping(const MemoryParameters& parameters, PageFrames frames = {});

  DeviceLocation locate(Line program_line) const {
    const Line line = frames_.frame_line(program_line);
    const std::uint64_t chunk = line.number >> chunk_bits_;
    const std::uint64_t within = line.number & ((std::uint64_t{1} << chunk_bits_) - 1);
    const std::uint64_t in_channel = chunk / channels_;
    const std::uint64_t in_bank = in_channel >> bank_bits_;
    std::uint64_t channel = chunk - in_channel * channels_;
    std::uint64_t bank = in_channel & mask(bank_bits_);
    if (hashed_channel_bits_ > 0) channel = hashed_channel(channel, in_channel);
    if (hashed_bank_bits_ > 0) bank ^= fold(in_bank >> chunk_of_row_bits_, hashed_bank_bits_);
    return {static_cast<std::uint32_t>(channel), static_cast<std::uint32_t>(bank),
            ((in_bank << chunk_bits_) | within) >> row_bits_};
  }

 private:
  static std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
  // Returns the XOR of all groups of `bits` consecutive bits.
  static std::uint64_t fold(std::uint64_t value, unsigned bits) {
    for (unsigned shift = bits; shift < 64; shift *= 2) value ^= value >> shift;
    return value & mask(bits);
  }
  std::uint64_t hashed_channel(std::uint64_t channel, std::uint64_t in_channel) const {
    const std::uint64_t hash = fold(in_channel, hashed_channel_bits_);
    return power_of_two_ ? channel ^ hash : (channel + hash) % channels_;
  }

  PageFrames frames_;
  std::uint64_t channels_;
  unsigned chunk_bits_;  // log2 of the lines of a chunk
  unsigned bank_bits_;
  unsigned row_bits_;             // log2 of the lines of a row
  unsigned chunk_of_row_bits_;    // log2 of the chunks of a row; 0 if a row has no more than one
  unsigned hashed_channel_bits_;  // 0: channels aren't hashed
  unsigned hashed_bank_bits_;     // 0: banks aren't hashed
  bool power_of_two_;             // the number of channels is one
};

}  // namespace pmemsim
