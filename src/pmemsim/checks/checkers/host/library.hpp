// A shared library that checks images (include/pmemsim/check.h).
//
// This process has a copy of the image, of which each child gets its own when it is forked. (That
// children map the image's file, copy-on-write, would take twice as long: each would have to find
// all pages anew.) But as long as checks have no side effects, one child makes one after the other,
// and does map the file. It starts more slowly, so that where such children end early, most checks
// are made by others.
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
  // Throws std::runtime_error if it can't be loaded, or can't work with such regions.
  // `reads` is where it is told what checks read (checks/checkers/shared_reads.hpp).
  Library(const std::vector<HostRegion>& regions, const std::string& path,
          const std::string& reads);

  void changed(std::span<const std::uint64_t> lines);
  void all_changed();
  // Nothing: nobody wants an answer any more.
  std::optional<CheckerAnswer> judge(Watch& watch, bool watched);

 private:
  std::optional<CheckerAnswer> judge_in_turn(Watch& watch);
  void check(Watch::Told& told, bool watched) const;
  void check_in_turn(Watch::Told& told, const Watch& watch) const;
  void inherit_regions(bool inherit) const;
  void child_ended();

  struct Source {
    int file;
    const std::byte* bytes;
  };

  std::vector<Source> sources_;  // of the regions
  std::vector<pmemsim_region> regions_;
  decltype(&pmemsim_check) check_;
  SharedReads reads_;
  std::uint64_t in_turn_ = 0;  // checks that the child has made which makes several
  std::uint64_t apart_ = 0;    // that are made otherwise before there is such a child again
  std::uint64_t apart_before_ = 0;
};

}  // namespace pmemsim
