// The registers that survive a crash besides PM. An image of PM and these registers suffice to
// decode a crash image (decoded_image.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/designs/backend/line_crypto.hpp"
#include "pmemsim/designs/backend/merkle_tree.hpp"
#include "pmemsim/designs/backend/start_gap_regions.hpp"

namespace pmemsim {

struct SurvivingRegisters {
  struct Tree {
    std::uint32_t levels = 1;
    MerkleTree::Roots roots;
  };
  struct Levelling {
    std::uint64_t region_lines = 0;
    StartGapRegions::Registers regions;
  };

  void add_operation(const char* name);

  // Names of the backend's operations, in the order in which they changed the lines.
  std::vector<std::string> operations;
  // Registers of operations, empty without their operation.
  std::optional<Key> encryption_key, authentication_key;
  bool published_macs = false;  // MACs need no key
  std::optional<std::uint64_t> write_counter;
  std::optional<Tree> tree;
  // True if nodes of the tree persist in one step with the entries below them.
  bool nodes_persisted = false;
  std::optional<Levelling> levelling;
};

}  // namespace pmemsim
