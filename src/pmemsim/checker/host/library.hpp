// A shared library that checks images (include/pmemsim/check.h). They are mapped copy-on-write, so
// that each child sees the image as it is when it first looks, and changes nobody else's.
#pragma once

#include <pmemsim/check.h>

#include <string>
#include <vector>

#include "pmemsim/checker/host/region.hpp"
#include "pmemsim/checker/host/watch.hpp"

namespace pmemsim {

class Library {
 public:
  // Throws std::runtime_error if it can't be loaded, or can't work with such regions.
  Library(const std::vector<HostRegion>& regions, const std::string& path);

  void prepare() {}
  // In a child.
  void check(Watch::Told& told) const;

 private:
  std::vector<pmemsim_region> regions_;
  decltype(&pmemsim_check) check_;
};

}  // namespace pmemsim
