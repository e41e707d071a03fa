// What is known of what a checker reads, for whoever makes the images that it sees.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "pmemsim/checks/images/read_tree.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim {

// What a checker reads, and what somebody does who shows it images (image_search.hpp, rule 3).
struct KnownReads {
  const ReadTree& tree;
  std::shared_ptr<const Image> first;
  std::uint64_t unit_bytes;
  std::function<void()> learn;          // the tree is to know all images that were made
  std::function<std::uint64_t()> left;  // how many more may be shown
  std::function<bool()> go_on;          // asked all along
};

}  // namespace pmemsim
