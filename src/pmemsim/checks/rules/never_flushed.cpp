#include "pmemsim/checks/rules/never_flushed.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace pmemsim::check {
namespace {

// The never flushed stores of one source line and call path.
struct Stores {
  std::vector<At> first;  // The first store to each line
  std::vector<Line> lines;
};
using ByPlace = std::map<Findings::Place, Stores>;

ByPlace stores_by_place(Findings& findings, const Lines& lines, const Allocations& allocations) {
  ByPlace places;
  lines.for_each([&](Line line, const LineState& state) {
    for (const StoreList::Store& store : state.tags.distinct()) {
      if (allocations.are_freed(line, store.words)) continue;
      findings.add(Kind::kNeverFlushed, Reason::kTagBits, store.at);
    }
    if (state.dirty == 0) return;
    for (const StoreList* const list : {&state.stores, &state.late}) {
      for (const StoreList::Store& store : list->distinct()) {
        if (allocations.are_freed(line, store.words)) continue;
        if (state.is_sequence(store.words)) {
          findings.add(Kind::kNeverFlushed, Reason::kSequence, store.at);
          continue;
        }
        Stores& stores = places[store.place];
        stores.first.push_back(store.at);
        stores.lines.push_back(line);
      }
    }
  });
  return places;
}

// True if, for each run of adjacent lines, none of `words` leads into it, and `objects` are below
// it and in the line behind it.
bool are_unreferenced(std::vector<Line> lines, const std::vector<std::uint64_t>& words,
                      const std::vector<std::uint64_t>& objects) {
  std::ranges::sort(lines, {}, &Line::number);
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = i + 1;
    while (end < lines.size() && lines[end].number <= lines[end - 1].number + 1) ++end;
    const std::uint64_t behind = lines[end - 1].number + 1;
    const auto into = std::ranges::lower_bound(words, lines[i].address());
    if (into != words.end() && *into < Line{behind}.address()) return false;
    if (objects.empty() || objects.front() >= lines[i].number) return false;
    if (!std::ranges::binary_search(objects, behind)) return false;
    i = end;
  }
  return true;
}

}  // namespace

void report_never_flushed(Findings& findings, const Lines& lines, const Allocations& allocations,
                          const StoredReferences& references, const Image& memory,
                          const Touched& loaded) {
  const ByPlace places = stores_by_place(findings, lines, allocations);
  if (places.empty()) return;
  const std::vector<std::uint64_t> words = allocations.references(memory);
  const std::vector<std::uint64_t> objects = references.targets();
  for (const auto& [place, stores] : places) {
    const bool unreferenced =
        std::ranges::none_of(stores.lines,
                             [&](Line line) { return loaded.contains(line.address()); }) &&
        are_unreferenced(stores.lines, words, objects);
    const Reason reason = unreferenced ? Reason::kUnreferenced : Reason::kNone;
    for (const At& at : stores.first) findings.add(Kind::kNeverFlushed, reason, at);
  }
}

}  // namespace pmemsim::check
