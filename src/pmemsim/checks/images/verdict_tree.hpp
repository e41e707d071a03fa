// A tree of what a checker has read from the images shown to it, and of its verdicts. It finds
// images that need not be shown.
//
//   1  A checker that depends on nothing but the image behaves the same on two images as long as it
//      reads the same data. If an image agrees with a shown image in all data that the checker has
//      read from the shown image, it gets the verdict of the shown image.
//   2  Reads are reported in *units* of the image, pages or lines, in any order.
//   3  An inner node branches on the contents of one unit, and so distinguishes the runs below it.
//      A leaf is a run. An image that reaches a leaf gets the run's verdict if it agrees in all of
//      the run's units.
//   4  All runs below a node have read the node's unit, with different contents. Such a unit exists
//      if the checker depends only on the image: the runs have read the same units up to the first
//      one in which they differ. Otherwise the newest run is removed. The only cost of a removed
//      run is that its image is shown again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "pmemsim/checks/images/content_hashes.hpp"

namespace pmemsim {

class VerdictTree {
 public:
  struct Read {
    std::uint64_t unit;
    std::uint64_t contents;  // Hash by ContentHashes
  };
  struct Run {
    std::vector<Read> reads;  // Each unit once
    bool accepted;
  };
  // Maximum number of reads of all runs. Further runs are not added.
  static constexpr std::size_t kMostReads = std::size_t{1} << 24;

  explicit VerdictTree(std::size_t most_reads = kMostReads) : most_(most_reads) {}

  void add(Run run);
  // Returns the run whose verdict the image has, valid until add(); nullptr: there is none.
  const Run* find(const ContentHashes& image) const;

  // Returns the number of runs in the tree.
  std::size_t runs() const { return count_; }

 private:
  struct Known {
    Run run;
    std::vector<std::uint32_t> sorted;  // Indices of its reads, by their units
    std::size_t number;                 // Number in the order of addition
    std::optional<std::uint64_t> contents(std::uint64_t unit) const;
  };
  using Runs = std::vector<std::unique_ptr<const Known>>;
  struct Node {
    std::unique_ptr<const Known> leaf;  // The run, if the node is a leaf
    std::uint64_t unit = 0;
    std::map<std::uint64_t, Node> below;  // By the unit's contents
  };

  std::unique_ptr<const Known> known(Run run);
  void take(Node& node, Runs& runs);
  void build(Node& node, Runs runs);
  static std::optional<std::uint64_t> distinguishing_unit(const Runs& runs);

  const std::size_t most_;
  Node root_;
  std::size_t added_ = 0, count_ = 0, reads_ = 0;
};

}  // namespace pmemsim
