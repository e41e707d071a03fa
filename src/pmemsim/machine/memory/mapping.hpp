// The mapping of lines to channels, banks and rows.
//
// Memory is divided into chunks: pages under page interleaving, lines under line interleaving.
// Chunk n is in channel n mod C, where C is the number of channels. Consecutive chunks alternate
// first between controllers, then between a controller's channels: channel c belongs to controller
// c mod controllers. Within a channel, m = n / C, the chunk is in bank m mod B of the channel's B
// banks (all ranks). Bank b belongs to rank b / banks_per_rank. The chunk is chunk m / B of that
// bank, whose bytes fill its rows one after the other. No bits are hashed. page_placement.hpp
// describes the placement of a program's pages.
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
    return {static_cast<std::uint32_t>(chunk - in_channel * channels_),
            static_cast<std::uint32_t>(in_channel & ((std::uint64_t{1} << bank_bits_) - 1)),
            ((in_bank << chunk_bits_) | within) >> row_bits_};
  }

 private:
  PageFrames frames_;
  std::uint64_t channels_;
  unsigned chunk_bits_;  // log2 of the lines of a chunk
  unsigned bank_bits_;
  unsigned row_bits_;  // log2 of the lines of a row
};

}  // namespace pmemsim
