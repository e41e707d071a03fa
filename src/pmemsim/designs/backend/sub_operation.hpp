// What operations of the backend are made of (Janus, 3.1 and 4.2): sub-operations, the nodes of one
// graph.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// Of a write, what a sub-operation works on.
struct Inputs {
  bool address = false;
  bool data = false;

  friend constexpr Inputs operator|(Inputs one, Inputs other) {
    return {one.address || other.address, one.data || other.data};
  }
  // Are they all there?
  constexpr bool within(Inputs known) const {
    return (!address || known.address) && (!data || known.data);
  }
};

// What a sub-operation works out, as far as that takes energy (machine/run/run_energy.hpp).
enum class WorkKind : std::uint8_t {
  kNone,
  kPad,
  kMac,
  kTreeHash,
  kMd5,
  kCrc32,
  kCompression,
  kCheckBits,
};
inline constexpr std::size_t kWorkKinds = 8;
// In statistics.
inline constexpr std::array<std::string_view, kWorkKinds> kWorkNames{
    "", "pads", "macs", "tree_hashes", "md5s", "crc32s", "compressions", "check_bits"};

struct SubOperation {
  std::string name;  // as the paper has it: E1
  Picoseconds latency{0};
  WorkKind work = WorkKind::kNone;
  Inputs external{};  // not those that come by way of `after`
  // Whose results it needs. Names of operations that aren't chosen stand for nothing.
  std::vector<std::string> after{};
  bool finds_duplicates = false;  // tells whether the line's data are elsewhere already
  bool unless_duplicate = false;  // falls away if they are
};

}  // namespace pmemsim
