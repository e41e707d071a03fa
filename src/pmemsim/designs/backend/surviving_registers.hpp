// What the hardware keeps without power beside PM: with an image of PM and this, and nothing else,
// a crash's image is read (decoded_image.hpp).
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

  // What has been done to lines, in its order: the names of the backend's operations.
  std::vector<std::string> operations;
  // Each is there if the operation is that needs it.
  std::optional<Key> encryption_key, authentication_key;
  bool published_macs = false;  // need no key
  std::optional<std::uint64_t> write_counter;
  std::optional<Tree> tree;
  bool nodes_persisted = false;  // of the tree, with what is below them
  std::optional<Levelling> levelling;
};

}  // namespace pmemsim
