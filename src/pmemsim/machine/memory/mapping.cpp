#include "pmemsim/machine/memory/mapping.hpp"

#include <bit>

namespace pmemsim {

namespace {

unsigned bits(std::uint64_t power_of_two) {
  return static_cast<unsigned>(std::countr_zero(power_of_two));
}

}  // namespace

Mapping::Mapping(const MemoryParameters& parameters, PageFrames frames)
    : frames_(frames),
      channels_(parameters.channels()),
      chunk_bits_(parameters.interleaving == Interleaving::kLine
                      ? 0
                      : bits(parameters.page_size.count / kLineBytes)),
      bank_bits_(bits(parameters.banks())),
      row_bits_(bits(parameters.row_size.count / kLineBytes)),
      chunk_of_row_bits_(row_bits_ > chunk_bits_ ? row_bits_ - chunk_bits_ : 0),
      hashed_channel_bits_(parameters.channel_hashing ? bits(std::bit_ceil(channels_)) : 0),
      hashed_bank_bits_(parameters.bank_hashing ? bank_bits_ : 0),
      power_of_two_(std::has_single_bit(channels_)) {}

}  // namespace pmemsim
