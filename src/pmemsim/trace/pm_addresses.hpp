// Determines which addresses of a recording are persistent memory. A query in the same region as
// the last one is fast.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

class PmAddresses {
 public:
  explicit PmAddresses(const Metadata& metadata) : regions_(metadata.pm_regions) {}
  bool contains(std::uint64_t address) {
    if (last_ < regions_.size() && within(regions_[last_], address)) return true;
    for (last_ = 0; last_ < regions_.size(); ++last_) {
      if (within(regions_[last_], address)) return true;
    }
    return false;
  }

 private:
  static bool within(const PmRegion& region, std::uint64_t address) {
    return address >= region.begin && address < region.end;
  }
  const std::vector<PmRegion>& regions_;
  std::size_t last_ = 0;
};

}  // namespace pmemsim::trace
