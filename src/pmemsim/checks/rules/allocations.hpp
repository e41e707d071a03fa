// Checks of the recorded allocations (pm_alloc, pm_free).
//
//   A1  used-after-free: the program accesses memory that was certainly freed before and not
//       allocated again. Memory that a region frees keeps its contents until the region's end. The
//       size of an allocation before the recording is unknown: only its first line is checked.
//   A2  leaked: at the recording's end, no reachable word holds an address within the allocation,
//       or its offset in its PM region. Reachable words are those of persistent memory outside of
//       allocations and freed lines, and those of reachable allocations. Words of a software log do
//       not count, and allocations of an open region are not checked. Those of libpmemobj, which
//       lists a program's objects on request, are not checked, either.
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

  Allocations(Findings& findings, const HappensBefore& order, const trace::Metadata& metadata)
      : findings_(findings),
        order_(order),
        regions_(metadata.pm_regions),
        share_lines_(metadata.uses_libpmemobj()) {}

  bool any() const { return any_; }
  void allocate(const At& at, std::uint64_t address, std::uint64_t bytes, bool in_region);
  // `bytes`: 0 if only the allocation tells.
  void free(const At& at, std::uint64_t address, std::uint64_t bytes, bool in_region);
  void region_ended(CoreId thread);
  // Rule A1. Processes an access by the program, not by its library.
  void access(const At& at, std::uint64_t address, Reason reason) {
    if (freed_.size() > 0) check_access(at, Line::of(address), reason);
  }
  // Returns the allocation that contains an address.
  std::optional<Block> find(std::uint64_t address) const;
  bool is_freed(Line line) const { return freed_.find(line) != nullptr; }
  // Returns, in ascending order, the addresses in PM that words of PM contain, as an address
  // without tag bits or as an offset in a PM region.
  std::vector<std::uint64_t> references(const Image& memory) const;
  // Rule A2. `memory`: contents at the end; `log`: the lines that a software log has written.
  void find_leaks(const Image& memory, const LineTable<bool>& log);

 private:
  struct Allocated {
    std::uint64_t bytes;
    At at;
    bool reached;  // Reached from the roots, or not to be checked
  };
  struct Freed {
    At at;
    HappensBefore::Epoch epoch;
  };
  using Live = std::map<std::uint64_t, Allocated>;
  struct OfRegion {
    std::vector<std::uint64_t> allocated;  // Addresses
    std::vector<std::pair<At, Block>> freed;
  };
  struct Lines {
    std::uint64_t first, count;  // Number of the first line
  };

  void forget(const At& at, Block block);
  Lines lines_of(Block block) const;

  void check_access(const At& at, Line line, Reason reason);
  Live::iterator containing(std::uint64_t address);
  void reach(std::uint64_t word, std::vector<Block>& reached);
  void reach_from(const Image& memory, Line line, std::vector<Block>& reached);

  Findings& findings_;
  const HappensBefore& order_;
  const std::vector<trace::PmRegion>& regions_;
  const bool share_lines_;  // Allocations may begin and end within lines (libpmemobj)
  bool any_ = false;
  Live live_;
  std::map<CoreId, OfRegion> open_;  // By thread
  LineTable<Freed> freed_;
};

}  // namespace pmemsim::check
