// Lines of PM to which words lead that the program has stored in PM:
//
//   1. by an address, with or without tag bits;
//   2. by an offset in the word's PM region. A number may be an offset by accident. So an offset
//      counts if it is a multiple of 8, leads past the region's first line to a line that the
//      program has stored to before, and if its instruction stores nothing but such offsets,
//      addresses, and zeros.
#pragma once

#include <array>
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
  // Returns the address that a word of PM leads to; 0: none. `lines` has all stores.
  std::uint64_t target_of(std::uint64_t address, std::uint64_t word, const Lines& lines) const;
  // Returns the site that has stored the reference in a word of PM; kNoSite: none.
  std::uint32_t stored_at(std::uint64_t address) const;
  // Visits the sites that have stored references to the same line: at most four for each line.
  template <class Visit>
  void for_each_target(Visit visit) const {
    sites_.for_each([&](Line, const Sites& sites) { visit(sites); });
  }
  using Sites = std::array<std::uint32_t, 4>;  // kNoSite: none
  static constexpr std::uint32_t kNoSite = UINT32_MAX;

 private:
  static constexpr std::uint32_t kByAddress = UINT32_MAX;

  bool leads_by_address(std::uint64_t word) const;
  // Returns the word that the offset leads to, or 0.
  std::uint64_t by_offset(std::uint64_t address, std::uint64_t word, const Lines& lines) const;
  void note_word(std::uint64_t address, std::uint32_t site);
  void add(std::uint64_t target, std::uint32_t by, std::uint32_t site);

  const std::vector<trace::PmRegion>& regions_;
  std::vector<bool> stores_numbers_;    // By site
  LineTable<std::uint32_t> stored_by_;  // The site, or kByAddress
  LineTable<Sites> sites_;
  // By line: the sites that have stored its words, if these are references.
  LineTable<std::array<std::uint32_t, kLineBytes / kWordBytes>> words_;
};

}  // namespace pmemsim::check
