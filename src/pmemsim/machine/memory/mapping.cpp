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
      row_bits_(bits(parameters.row_size.count / kLineBytes)) {}

}  // namespace pmemsim
