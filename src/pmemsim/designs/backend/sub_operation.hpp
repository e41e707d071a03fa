// Sub-operations of the backend's operations (Janus, 3.1 and 4.2), which are the nodes of one
// graph.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// The parts of a write that a sub-operation works on.
struct Inputs {
  bool address = false;
  bool data = false;

  friend constexpr Inputs operator|(Inputs one, Inputs other) {
    return {one.address || other.address, one.data || other.data};
  }
  // True if all inputs are known.
  constexpr bool within(Inputs known) const {
    return (!address || known.address) && (!data || known.data);
  }
};

// The kind of work of a sub-operation, where it takes energy (machine/run/run_energy.hpp).
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
// Names in statistics.
inline constexpr std::array<std::string_view, kWorkKinds> kWorkNames{
    "", "pads", "macs", "tree_hashes", "md5s", "crc32s", "compressions", "check_bits"};

struct SubOperation {
  std::string name;  // the paper's name, such as E1
  Picoseconds latency{0};
  WorkKind work = WorkKind::kNone;
  Inputs external{};  // inputs that aren't already those of `after`
  // Names of the sub-operations whose results it needs. Names of operations that aren't chosen are
  // ignored.
  std::vector<std::string> after{};
  bool finds_duplicates = false;  // finds whether the line's data are elsewhere already
  bool unless_duplicate = false;  // skipped if the line's data are elsewhere
};

}  // namespace pmemsim
