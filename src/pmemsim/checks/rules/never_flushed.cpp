#include "pmemsim/checks/rules/never_flushed.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "pmemsim/checks/rules/free_lists.hpp"

namespace pmemsim::check {
namespace {

UnflushedStores unflushed_stores(const NeverFlushedCheck& check) {
  UnflushedStores stores;
  check.lines.for_each([&](Line line, const LineState& state) {
    for (const StoreList::Store& store : state.tags.distinct()) {
      if (check.allocations.are_freed(line, store.words)) continue;
      check.findings.add(Kind::kNeverFlushed, Reason::kTagBits, store.at);
    }
    if (state.dirty == 0) return;
    for (const StoreList* const list : {&state.stores, &state.late}) {
      for (const StoreList::Store& store : list->distinct()) {
        if (check.allocations.are_freed(line, store.words)) continue;
        if (state.is_sequence(store.words)) {
          check.findings.add(Kind::kNeverFlushed, Reason::kSequence, store.at);
          continue;
        }
        stores[store.place].push_back({store.at, line, store.words});
      }
    }
  });
  return stores;
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

// Note N3.
bool is_unreferenced(const NeverFlushedCheck& check, const std::vector<UnflushedStore>& stores,
                     const std::vector<std::uint64_t>& words,
                     const std::vector<std::uint64_t>& objects) {
  std::vector<Line> lines;
  for (const UnflushedStore& store : stores) {
    if (check.loaded.contains(store.line.address())) return false;
    lines.push_back(store.line);
  }
  return are_unreferenced(std::move(lines), words, objects);
}

// Note N8.
bool is_in_redo_log(const NeverFlushedCheck& check, Findings::Place place,
                    const std::vector<UnflushedStore>& stores) {
  return std::ranges::all_of(stores, [&](const UnflushedStore& store) {
    const LineState& state = *check.lines.find(store.line);
    return check.redo_copies.have_copies(place, store.line, state, store.words);
  });
}

}  // namespace

void report_never_flushed(const NeverFlushedCheck& check) {
  const UnflushedStores all = unflushed_stores(check);
  if (all.empty()) return;
  const std::vector<std::uint64_t> words = check.allocations.references(check.memory);
  const std::vector<std::uint64_t> objects = check.references.targets();
  const std::set<std::uint32_t> links =
      free_list_links(check.findings, all, check.lines, check.references, check.memory);
  for (const auto& [place, stores] : all) {
    Reason reason = Reason::kNone;
    if (is_unreferenced(check, stores, words, objects)) {
      reason = Reason::kUnreferenced;
    } else if (is_in_redo_log(check, place, stores)) {
      reason = Reason::kRedoLog;
    } else if (links.contains(place.line)) {
      reason = Reason::kFreeList;
    }
    for (const UnflushedStore& store : stores) {
      check.findings.add(Kind::kNeverFlushed, reason, store.first);
    }
  }
  check.findings.replace_reason(Kind::kPublishedUnflushed, Reason::kPublished, Reason::kFreeList,
                                links);
}

}  // namespace pmemsim::check
