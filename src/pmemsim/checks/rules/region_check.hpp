// What a program's regions declare (pm_log) and store to.
//
//   R1  not-logged: a region stores to a line of which it has declared nothing before its end, and
//       that it has not allocated. The log saves whole lines, so neighbours are safe. With a redo
//       log, every store counts that the library doesn't make, for pm_set alone reaches the log.
//   R2  logged-late: a region declares a range of a line that it has stored to before.
//   R3  logged-twice: all of a range was declared before by the same region.
//   R4  logged-by-two: a region declares a range of a line that a region of another thread has
//       declared which, by all that the recording knows of their order, may still be open.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"

namespace pmemsim::check {

// What the regions of all threads have declared last.
struct Declared {
  static constexpr HappensBefore::Epoch kOpen = UINT32_MAX;

  At at{};
  std::uint64_t region = 0;  // a number of its own
};
using DeclaredLines = LineTable<Declared>;

class RegionCheck {
 public:
  // Of all threads.
  struct Shared {
    DeclaredLines declared{};
    std::vector<HappensBefore::Epoch> ends{};  // by region's number; kOpen
  };

  RegionCheck(Findings& findings, Shared& shared, const HappensBefore& order, CoreId thread,
              bool redo)
      : findings_(findings), shared_(shared), order_(order), thread_(thread), redo_(redo) {}

  bool open() const { return depth_ > 0; }
  void begin();
  // Of an outermost region, before its thread goes on.
  void end();
  void declare(const At& at, std::uint64_t address, std::uint64_t bytes);
  void allocated(std::uint64_t address, std::uint64_t bytes);
  // By the program, not its library.
  void store(const At& at, std::uint64_t address, std::uint64_t bytes);

 private:
  struct RegionLine {
    ByteMask declared = 0;
    At declared_at{};
    bool undeclared = false;  // stored to so far without
    At stored_at{};
  };
  struct Range {
    std::uint64_t address, bytes;
  };

  RegionLine& line(Line line) {
    RegionLine* const found = lines_.find(line);
    return found != nullptr ? *found : lines_.insert(line);
  }
  bool allocated_here(std::uint64_t address) const;
  void declare_line(const At& at, Line number, RegionLine& line);

  Findings& findings_;
  Shared& shared_;
  const HappensBefore& order_;
  const CoreId thread_;
  const bool redo_;
  int depth_ = 0;
  std::uint64_t region_ = 0;
  LineTable<RegionLine> lines_;
  std::vector<Range> allocated_;
};

}  // namespace pmemsim::check
