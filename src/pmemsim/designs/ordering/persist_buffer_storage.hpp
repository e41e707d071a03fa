// The on-chip storage of DPO's and HOPS's persist buffers.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// Returns the storage of a core's persist buffer. `order_bits`: number of bits in an entry that
// record the order of entries; `order`: name of these bits in the formula.
inline Structure persist_buffer(std::uint64_t entries, std::uint64_t order_bits,
                                std::string_view order, const Chip& chip) {
  constexpr std::uint64_t kMaskBits = kLineBytes, kDataBits = kLineBytes * 8;
  constexpr std::uint64_t kAddressBits = kAddressBytes * 8;
  return {.name = "persist buffer, a core",
          .formula = fmt::format("{} x ({} bit address + {} bit data + {} bit mask + {} bit {})",
                                 entries, kAddressBits, kDataBits, kMaskBits, order_bits, order),
          .bytes = in_bytes(entries * (kAddressBits + kDataBits + kMaskBits + order_bits)),
          .count = chip.cores,
          .source = "PMEM-Spec, 2.2; entries as the model has them"};
}

}  // namespace pmemsim
