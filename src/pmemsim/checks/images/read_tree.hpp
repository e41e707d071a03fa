// What a checker has read of the images that it was shown, and what it said: which images it
// needn't see.
//
//   1  A checker that depends on nothing but the image does the same on two images for as long as
//      what it reads is the same. So an image that agrees with one that was shown, in all that the
//      checker has read of that one, has its verdict.
//   2  What is read is told in *units* of the image, pages or lines, in any order.
//   3  Inner nodes ask what a unit holds, which tells apart the runs below them; a leaf is a run.
//   An
//      image that comes to a leaf has the run's verdict if it agrees in all of the run's units.
//   4  A node's unit is one that all runs below it have read, and not all with the same contents.
//      There is one: until the first unit that they don't agree in, they have read the same. Where
//      there is none, the checker depends on something else; the newest run is forgotten then.
//      Whatever is forgotten is only shown again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "pmemsim/checks/images/unit_hashes.hpp"

namespace pmemsim {

class ReadTree {
 public:
  struct Read {
    std::uint64_t unit;
    std::uint64_t contents;  // as UnitHashes has it
  };
  struct Run {
    std::vector<Read> reads;  // each unit once
    bool accepted;
  };
  // Of all runs. Beyond, no further run is remembered.
  static constexpr std::size_t kMostReads = std::size_t{1} << 24;

  explicit ReadTree(std::size_t most_reads = kMostReads) : most_(most_reads) {}

  void add(Run run);
  // The run whose verdict the image has, until one is added; nullptr: there is none.
  const Run* find(const UnitHashes& image) const;

  // That are remembered.
  std::size_t runs() const { return count_; }

 private:
  struct Known {
    Run run;
    std::vector<std::uint32_t> sorted;  // indices of its reads, by their units
    std::size_t number;                 // in the order in which they were added
    std::optional<std::uint64_t> contents(std::uint64_t unit) const;
  };
  using Runs = std::vector<std::unique_ptr<const Known>>;
  struct Node {
    std::unique_ptr<const Known> leaf;  // or:
    std::uint64_t unit = 0;
    std::map<std::uint64_t, Node> below;  // by the unit's contents
  };

  std::unique_ptr<const Known> known(Run run);
  void take(Node& node, Runs& runs);
  void build(Node& node, Runs runs);
  static std::optional<std::uint64_t> telling_unit(const Runs& runs);

  const std::size_t most_;
  Node root_;
  std::size_t added_ = 0, count_ = 0, reads_ = 0;
};

}  // namespace pmemsim
