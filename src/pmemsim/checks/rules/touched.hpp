// A set of lines that a recording has accessed. add() is called for each access, so the last line
// is cached.
#pragma once

#include <cstdint>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim::check {

class Touched {
 public:
  void add(std::uint64_t address) {
    if (address / kLineBytes == last_) return;
    last_ = address / kLineBytes;
    const Block block{last_ / kBlockLines};
    std::uint64_t* found = lines_.find(block);
    if (found == nullptr) found = &lines_.insert(block);
    *found |= std::uint64_t{1} << last_ % kBlockLines;
  }
  bool contains(std::uint64_t address) const {
    const std::uint64_t line = address / kLineBytes;
    const std::uint64_t* const found = lines_.find({line / kBlockLines});
    return found != nullptr && (*found >> line % kBlockLines & 1) != 0;
  }

 private:
  static constexpr std::uint64_t kBlockLines = 64;

  struct Block {
    std::uint64_t number = 0;
    bool operator==(const Block&) const = default;
  };

  std::uint64_t last_ = UINT64_MAX;
  FlatTable<Block, std::uint64_t> lines_;
};

}  // namespace pmemsim::check
