// Links of free lists, which recovery makes again: note N9 of never_flushed.hpp.
//
// The never flushed stores of a source line are links if all of these hold:
//
//   1. Each of their words has, at the end, a reference (stored_references.hpp) or zero. At least
//      one has a reference.
//   2. Each word is in unreachable memory: a reference has led to its line at some time, but no
//      word of PM leads there at the end. Words that the same source lines have stored don't
//      count. A list's head may be elsewhere: nothing leads to its line, of which no word was ever
//      persistent, and the head leads to such memory with a link.
//   3. Words that the same source lines have stored, and that are flushed, are in memory that
//      other words lead to: memory that is used again keeps its former link.
//   4. The lists are of memory that the program uses: a reference of the same source line and one
//      of another source line, whose stores are all flushed, have led to the same line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/stored_references.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim::check {

// The never flushed stores of one source line and call path.
struct UnflushedStore {
  At first;  // The first store to the line
  Line line;
  Words words;
};
using UnflushedStores = std::map<Findings::Place, std::vector<UnflushedStore>>;

// Returns the source lines all of whose stores are links. `memory`: contents at the end.
std::set<std::uint32_t> free_list_links(Findings& findings, const UnflushedStores& stores,
                                        const Lines& lines, const StoredReferences& references,
                                        const Image& memory);

}  // namespace pmemsim::check
