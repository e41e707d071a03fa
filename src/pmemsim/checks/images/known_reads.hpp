// The known reads of a checker, for the source of the images that are shown to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "pmemsim/checks/images/verdict_tree.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim {

// The data that a checker reads, and callbacks to the caller that shows it images
// (image_search.hpp, rule 3).
struct KnownReads {
  const VerdictTree& tree;
  std::shared_ptr<const Image> first;
  std::uint64_t unit_bytes;
  std::function<void()> learn;          // Adds the reads of all images made so far to the tree
  std::function<std::uint64_t()> left;  // Number of further images that may be shown
  std::function<bool()> keep_going;     // Asked repeatedly
};

}  // namespace pmemsim
