// The allocations that a recording tells of (pm_alloc, pm_free).
//
//   A1  used-after-free: the program accesses what was freed before, for certain, and not allocated
//       again. What a region frees keeps its contents until its end. How much was allocated before
//       the recording isn't known: of that, the first line counts.
//   A2  leaked: at the recording's end, no word of persistent memory outside of allocations, and
//       none of an allocation that is reached itself, holds an address within it, or its offset in
//       its region. What a software log holds counts for nothing, what an open region has allocated
//       isn't judged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

class Allocations {
 public:
  struct Block {
    std::uint64_t address, bytes;
  };

  Allocations(Findings& findings, const HappensBefore& order,
              const std::vector<trace::PmRegion>& regions)
      : findings_(findings), order_(order), regions_(regions) {}

  bool any() const { return any_; }
  void allocate(const At& at, std::uint64_t address, std::uint64_t bytes, bool in_region);
  void free(const At& at, std::uint64_t address, bool in_region);
  void region_ended(CoreId thread);
  // Rule A1. By the program, not its library.
  void access(const At& at, std::uint64_t address, Reason reason) {
    if (freed_.size() > 0) check_access(at, Line::of(address), reason);
  }
  // The one in which an address lies.
  std::optional<Block> find(std::uint64_t address) const;
  // Rule A2. `memory` at the end, and the lines that a software log has written.
  void find_leaks(const Image& memory, const LineTable<bool>& log);

 private:
  struct Allocated {
    std::uint64_t bytes;
    At at;
    bool reached;  // from the roots, or not to be judged
  };
  struct Freed {
    At at;
    HappensBefore::Epoch epoch;
  };
  using Live = std::map<std::uint64_t, Allocated>;
  struct OfRegion {
    std::vector<std::uint64_t> allocated;  // addresses
    std::vector<std::pair<At, std::uint64_t>> freed;
  };

  void forget(const At& at, std::uint64_t address);

  void check_access(const At& at, Line line, Reason reason);
  Live::iterator containing(std::uint64_t address);
  void reach(std::uint64_t word, std::vector<Block>& reached);
  void reach_from(const Image& memory, Line line, std::vector<Block>& reached);

  Findings& findings_;
  const HappensBefore& order_;
  const std::vector<trace::PmRegion>& regions_;
  bool any_ = false;
  Live live_;
  std::map<CoreId, OfRegion> open_;  // by thread
  LineTable<Freed> freed_;
};

}  // namespace pmemsim::check
