// What an implementation's structures take on the chip, computed from its parameters.
//
// Log areas in PM and DRAM that a design uses are not on the chip and don't count, nor do queues
// that the machine has without the design.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmemsim {

// One hardware structure.
struct Structure {
  std::string name;                 // with what has one: "CL List, a core"
  std::string formula;              // "4 x 64 bit"
  double bytes = 0;                 // of one
  std::uint64_t count = 0;          // in the machine
  std::string source;               // the section of the design's paper, or why it is there
  std::optional<double> printed{};  // bytes that the paper prints
  // Bytes by the reading of the formula that gives what is printed, where that is another.
  std::optional<double> printed_if{};

  bool operator==(const Structure&) const = default;
};

struct Storage {
  std::vector<Structure> structures{};
  std::string unknown{};  // why the structures can't be counted, in a sentence; empty if they are

  void add(const Storage& other) {
    structures.insert(structures.end(), other.structures.begin(), other.structures.end());
  }
};

// What structures depend on of the machine.
struct Chip {
  std::uint64_t cores = 0;        // each runs a thread
  std::uint64_t channels = 0;     // with PM; each has a controller's queues
  std::uint64_t banks = 0;        // of PM
  std::uint64_t l1_lines = 0;     // of a core
  std::uint64_t cache_lines = 0;  // of all caches
};

inline constexpr std::uint64_t kAddressBytes = 6;  // 48 bits (ASAP, 6.2)
inline constexpr std::uint64_t kRegisterBytes = 8;
// A number of bits in bytes.
constexpr double in_bytes(std::uint64_t bits) { return static_cast<double>(bits) / 8; }

}  // namespace pmemsim
