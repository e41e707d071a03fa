// Lines of PM to which words lead that the program has stored in PM:
//
//   1. by an address, with or without tag bits;
//   2. by an offset in the word's PM region. A number may be an offset by accident. So an offset
//      counts if it is a multiple of 8, leads past the region's first line to a line that the
//      program has stored to before, and if its instruction stores nothing but such offsets,
//      addresses, and zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

class StoredReferences {
 public:
  StoredReferences(const std::vector<trace::PmRegion>& regions, std::size_t sites)
      : regions_(regions), stores_numbers_(sites) {}

  // Processes a store of a word. `lines` has the stores before it.
  void store(std::uint32_t site, std::uint64_t address, std::uint64_t word, const Lines& lines);

  // Returns the numbers of the lines, in ascending order.
  std::vector<std::uint64_t> targets() const;

 private:
  static constexpr std::uint32_t kByAddress = UINT32_MAX;

  bool leads_by_address(std::uint64_t word) const;
  void add(std::uint64_t target, std::uint32_t by);

  const std::vector<trace::PmRegion>& regions_;
  std::vector<bool> stores_numbers_;    // By site
  LineTable<std::uint32_t> stored_by_;  // The site, or kByAddress
};

}  // namespace pmemsim::check
