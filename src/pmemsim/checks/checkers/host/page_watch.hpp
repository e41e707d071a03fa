// Notices the pages of an image that a check reads or writes, in a child that makes one check.
//
// The child maps the image's file again, so that no page is in its page table. The kernel then maps
// the pages that the check or its system calls use. The check can't detect that it is watched. A
// kernel also maps the neighbours of a page that is read, unless a userfaultfd is registered for
// the memory (it need not report anything). Where a userfaultfd isn't allowed, neighbours are
// reported as read, too.
#pragma once

#include <pmemsim/check.h>

#include <cstddef>
#include <span>
#include <vector>

namespace pmemsim {

class PageWatch {
 public:
  explicit PageWatch(const std::vector<pmemsim_region>& regions) : regions_(regions) {}

  // Replaces the region's memory by the file's contents; call it before the check.
  void map(const pmemsim_region& region, int file);
  // Stores for each page of each region, after the check, whether it was used. Returns false if
  // this is unknown.
  bool report_pages(std::span<std::byte> pages) const;

 private:
  const std::vector<pmemsim_region>& regions_;
  bool works_ = true;
};

}  // namespace pmemsim
