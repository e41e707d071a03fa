// Which pages of an image a check reads or writes, in a child that makes one check.
//
// The child maps the image's file anew: no page is in its page table then, and the kernel brings in
// those that are used, be it by the check itself or by system calls that it makes. Nothing that the
// check can see differs from a check that isn't watched. Kernels bring in the pages around one that
// is read, too, unless a userfaultfd watches the memory, if only by name; where that isn't allowed,
// more pages seem to be read than are.
#pragma once

#include <pmemsim/check.h>

#include <cstddef>
#include <span>
#include <vector>

namespace pmemsim {

class PageWatch {
 public:
  explicit PageWatch(const std::vector<pmemsim_region>& regions) : regions_(regions) {}

  // Before the check: the region's bytes become those of the file.
  void map(const pmemsim_region& region, int file);
  // After it, a byte for each page of each region: is it used? False: nobody can tell.
  bool tell(std::span<std::byte> pages) const;

 private:
  const std::vector<pmemsim_region>& regions_;
  bool works_ = true;
};

}  // namespace pmemsim
