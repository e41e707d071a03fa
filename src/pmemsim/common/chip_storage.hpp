// The on-chip storage of an implementation's structures, computed from its parameters.
//
// Log areas of a design in PM and DRAM are not on the chip and do not count. Queues that the
// machine has without the design do not count either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmemsim {

// One hardware structure.
struct Structure {
  std::string name;                 // with its owner: "CL List, a core"
  std::string formula;              // "4 x 64 bit"
  double bytes = 0;                 // bytes of one instance
  std::uint64_t count = 0;          // instances in the machine
  std::string source;               // section of the design's paper, or reason for the structure
  std::optional<double> printed{};  // bytes that the paper prints
  // Bytes by another interpretation of the structure, if only that interpretation gives the printed
  // number.
  std::optional<double> printed_if{};

  bool operator==(const Structure&) const = default;
};

struct Storage {
  std::vector<Structure> structures{};
  std::string unknown{};  // a sentence: why structures can't be counted; empty if they can

  void add(const Storage& other) {
    structures.insert(structures.end(), other.structures.begin(), other.structures.end());
  }
};

// Properties of the machine on which the size of structures depends.
struct Chip {
  std::uint64_t cores = 0;        // number of cores, each of which runs a thread
  std::uint64_t channels = 0;     // channels with PM; each has a controller's queues
  std::uint64_t banks = 0;        // banks of PM
  std::uint64_t l1_lines = 0;     // lines in the L1 of one core
  std::uint64_t cache_lines = 0;  // lines in all caches
};

inline constexpr std::uint64_t kAddressBytes = 6;  // 48 bits (ASAP, 6.2)
inline constexpr std::uint64_t kRegisterBytes = 8;
// Converts a number of bits to bytes.
constexpr double in_bytes(std::uint64_t bits) { return static_cast<double>(bits) / 8; }

}  // namespace pmemsim
