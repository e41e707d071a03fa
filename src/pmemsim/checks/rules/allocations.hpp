// Checks of the recorded allocations (pm_alloc, pm_free).
//
//   A1  used-after-free: the program accesses memory that was certainly freed before and not
//       allocated again. Memory that a region frees keeps its contents until the region's end. The
//       size of an allocation before the recording is unknown: only its first line is checked.
//       pm.h allocates whole lines; libpmemobj and --pm-heap allocate ranges of 8-byte words.
//   A2  leaked: at the recording's end, no reachable word holds an address within the allocation,
//       or its offset in its PM region. Reachable words are those of persistent memory outside of
//       allocations and freed memory, and those of reachable allocations. Words of a software log
//       do not count, and allocations of an open region are not checked. Nothing is checked if a
//       program asks libpmemobj for a list of its objects, or if volatile pointers may lead to the
//       memory (--pm-heap).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/store_list.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

class Allocations {
 public:
  struct Block {
    std::uint64_t address, bytes;
  };

  // `heap`: the program's heap is PM (--pm-heap).
  Allocations(Findings& findings, const HappensBefore& order, const trace::Metadata& metadata,
              bool heap)
      : findings_(findings),
        order_(order),
        regions_(metadata.pm_regions),
        share_lines_(metadata.uses_libpmemobj() || heap),
        finds_leaks_(!heap && !lists_objects(metadata)) {}

  bool any() const { return any_; }
  void allocate(const At& at, std::uint64_t address, std::uint64_t bytes, bool in_region);
  // `bytes`: 0 if only the allocation tells.
  void free(const At& at, std::uint64_t address, std::uint64_t bytes, bool in_region);
  void region_ended(CoreId thread);
  // Rule A1. Processes an access by the program, not by its library.
  void access(const At& at, std::uint64_t address, std::uint64_t bytes, Reason reason) {
    if (freed_.size() > 0) check_access(at, address, bytes, reason);
  }
  // Returns the allocation that contains an address.
  std::optional<Block> find(std::uint64_t address) const;
  Words freed_words(Line line) const {
    const Freed* const freed = freed_.find(line);
    return freed == nullptr ? Words{0} : freed->words;
  }
  // True if all these words are free.
  bool are_freed(Line line, Words words) const { return (words & ~freed_words(line)) == 0; }
  // Returns, in ascending order, the addresses in PM that words of PM contain, as an address
  // without tag bits or as an offset in a PM region.
  std::vector<std::uint64_t> references(const Image& memory) const;
  // Rule A2. `memory`: contents at the end; `log`: the lines that a software log has written.
  void find_leaks(const Image& memory, const LineTable<bool>& log);

 private:
  static bool lists_objects(const trace::Metadata& metadata);

  struct Allocated {
    std::uint64_t bytes;
    At at;
    bool reached;  // Reached from the roots, or not to be checked
  };
  // The free words of a line, and the last call that has freed some.
  struct Freed {
    Words words;
    At at;
    HappensBefore::Epoch epoch;
  };
  using Live = std::map<std::uint64_t, Allocated>;
  struct OfRegion {
    std::vector<std::uint64_t> allocated;  // Addresses
    std::vector<std::pair<At, Block>> freed;
  };
  // Visits the lines of a block, at most `most`, with the block's words in each.
  template <typename Visit>
  void for_each_line(Block block, std::uint64_t most, Visit visit) const;
  void forget(const At& at, Block block);
  void check_access(const At& at, std::uint64_t address, std::uint64_t bytes, Reason reason);
  Live::iterator containing(std::uint64_t address);
  void reach(std::uint64_t word, std::vector<Block>& reached);
  void reach_from(const Image& memory, Line line, Words words, std::vector<Block>& reached);
  // The words of a line that lie in no allocation and are not free.
  Words roots(Line line);

  Findings& findings_;
  const HappensBefore& order_;
  const std::vector<trace::PmRegion>& regions_;
  const bool share_lines_;  // Allocations may begin and end within lines
  const bool finds_leaks_;
  bool any_ = false;
  Live live_;
  std::map<CoreId, OfRegion> open_;  // By thread
  LineTable<Freed> freed_;
};

}  // namespace pmemsim::check
