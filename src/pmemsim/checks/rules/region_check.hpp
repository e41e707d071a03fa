// Check of the ranges that a program's regions declare (pm_log) and of their stores.
//
//   R1  not-logged: a region stores to a line that it has not allocated, and of which it has
//       declared no part before its end. The log saves whole lines, so neighbours are safe. With a
//       redo log, every store is reported that the library does not execute, since only pm_set
//       writes to the log. Other libraries' logs (libpmemobj) save bytes: each stored word must be
//       declared or allocated.
//   R2  logged-late: a region declares a range of a line (or bytes, as in R1) that it has stored to
//       before.
//   R3  logged-twice: the same region has declared the whole range before.
//   R4  logged-by-two: a region declares a range of a line (or bytes, as in R1) that a region of
//       another thread has declared. By the recorded order, that region may still be open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/store_list.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

// The last declaration of a line by a region of any thread.
struct Declared {
  static constexpr HappensBefore::Epoch kOpen = UINT32_MAX;

  At at{};
  std::uint64_t region = 0;  // Number of the region, unique
  ByteMask logged = 0;       // Bytes of the line that its log saves
};
using DeclaredLines = LineTable<Declared>;

// Bytes that a region's log saves of a line, if the region declares some of its bytes.
class LoggedBytes {
 public:
  explicit LoggedBytes(const trace::Metadata& metadata) {
    if (!metadata.uses_libpmemobj()) return;
    for (const trace::PmRegion& region : metadata.pm_regions) {
      if (!region.source.starts_with("pm_open")) exact_.push_back(region);
    }
  }
  // True if it saves the declared bytes alone, not the whole line.
  bool exact(Line line) const {
    return std::ranges::any_of(exact_, [&](const trace::PmRegion& region) {
      return line.address() >= region.begin && line.address() < region.end;
    });
  }
  ByteMask of(Line line, ByteMask declared) const { return exact(line) ? declared : kWholeLine; }

 private:
  std::vector<trace::PmRegion> exact_;
};

class RegionCheck {
 public:
  // State shared by all threads.
  struct Shared {
    DeclaredLines declared{};
    std::vector<HappensBefore::Epoch> ends{};  // By region's number; kOpen while open
  };

  RegionCheck(Findings& findings, Shared& shared, const HappensBefore& order, CoreId thread,
              bool redo, const LoggedBytes& logged)
      : findings_(findings),
        shared_(shared),
        order_(order),
        thread_(thread),
        redo_(redo),
        logged_(logged) {}

  bool open() const { return depth_ > 0; }
  void begin();
  // Ends a region, before its thread continues. Only the end of an outermost region counts.
  void end();
  void declare(const At& at, std::uint64_t address, std::uint64_t bytes);
  void allocated(std::uint64_t address, std::uint64_t bytes);
  // Processes a store by the program, not by its library.
  void store(const At& at, std::uint64_t address, std::uint64_t bytes);

 private:
  struct RegionLine {
    ByteMask declared = 0;
    ByteMask logged = 0;  // Bytes that the log saves
    At declared_at{};
    StoreList undeclared{};  // Stores to words that are not declared
  };
  struct Range {
    std::uint64_t address, bytes;
  };

  RegionLine& line(Line line) {
    RegionLine* const found = lines_.find(line);
    return found != nullptr ? *found : lines_.insert(line);
  }
  ByteMask allocated_bytes(Line line) const;
  void declare_line(const At& at, Line number, RegionLine& line, ByteMask logged);

  Findings& findings_;
  Shared& shared_;
  const HappensBefore& order_;
  const CoreId thread_;
  const bool redo_;
  const LoggedBytes& logged_;
  int depth_ = 0;
  std::uint64_t region_ = 0;
  LineTable<RegionLine> lines_;
  std::vector<Range> allocated_;
};

}  // namespace pmemsim::check
