// Counts the writes of each line of a device, for the wear of its most written cells.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

class WrittenLines {
 public:
  void write(Line line) {
    std::uint32_t* const found = writes_.find(line);
    std::uint32_t& writes = found != nullptr ? *found : writes_.insert(line);
    most_ = std::max(most_, ++writes);
  }

  // Returns the number of writes of the most written line.
  std::uint32_t most() const { return most_; }

 private:
  LineTable<std::uint32_t> writes_;
  std::uint32_t most_ = 0;
};

}  // namespace pmemsim
