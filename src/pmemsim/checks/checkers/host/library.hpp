// A shared library that checks images (include/pmemsim/check.h).
//
// This process has a copy of the image, and each child gets its own copy by fork(). (If each child
// mapped the image's file copy-on-write, it would take twice as long, since it would fault in all
// pages.) As long as checks have no side effects, one child makes several checks in sequence, and
// this child maps the file. It starts more slowly. If such children end early, most checks get a
// child of their own.
#pragma once

#include <pmemsim/check.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/checks/checkers/host/region.hpp"
#include "pmemsim/checks/checkers/host/watch.hpp"
#include "pmemsim/checks/checkers/shared_reads.hpp"

namespace pmemsim {

class Library {
 public:
  // Loads the library. Throws std::runtime_error if this fails or the library can't work with such
  // regions. `reads`: path of the memory for the pages read (checks/checkers/shared_reads.hpp).
  Library(const std::vector<HostRegion>& regions, const std::string& path,
          const std::string& reads);

  void changed(std::span<const std::uint64_t> lines);
  void all_changed();
  // Checks the image. Returns nothing if the answer is no longer wanted.
  std::optional<CheckerAnswer> check_image(Watch& watch, bool watched);

 private:
  std::optional<CheckerAnswer> check_in_turn(Watch& watch);
  void check(Watch::Report& report, bool watched) const;
  void check_in_turn(Watch::Report& report, const Watch& watch) const;
  void inherit_regions(bool inherit) const;
  void child_ended();

  struct Source {
    int file;
    const std::byte* bytes;
  };

  std::vector<Source> sources_;  // Files of the regions
  std::vector<pmemsim_region> regions_;
  decltype(&pmemsim_check) check_;
  SharedReads reads_;
  std::uint64_t in_turn_ = 0;  // Number of checks made by the child that makes several
  // Number of checks in children of their own before such a child starts again.
  std::uint64_t apart_ = 0;
  std::uint64_t apart_before_ = 0;
};

}  // namespace pmemsim
