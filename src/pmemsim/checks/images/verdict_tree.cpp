#include "pmemsim/checks/images/verdict_tree.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pmemsim {

std::optional<std::uint64_t> VerdictTree::Known::contents(std::uint64_t unit) const {
  const auto unit_of = [&](std::uint32_t index) { return run.reads[index].unit; };
  const auto found = std::ranges::lower_bound(sorted, unit, {}, unit_of);
  if (found == sorted.end() || unit_of(*found) != unit) return std::nullopt;
  return run.reads[*found].contents;
}

std::unique_ptr<const VerdictTree::Known> VerdictTree::known(Run run) {
  Known known{.run = std::move(run), .sorted = {}, .number = added_++};
  known.sorted.resize(known.run.reads.size());
  std::iota(known.sorted.begin(), known.sorted.end(), 0);
  std::ranges::sort(known.sorted, {}, [&](std::uint32_t i) { return known.run.reads[i].unit; });
  return std::make_unique<const Known>(std::move(known));
}

void VerdictTree::add(Run run) {
  if (reads_ + run.reads.size() > most_) return;
  std::unique_ptr<const Known> added = known(std::move(run));
  Node* node = &root_;
  while (!node->below.empty()) {
    const std::optional<std::uint64_t> contents = added->contents(node->unit);
    if (!contents) break;  // Not all runs below have read the unit
    node = &node->below[*contents];
  }
  Runs runs;
  take(*node, runs);
  runs.push_back(std::move(added));
  std::ranges::sort(runs, {}, [](const auto& known) { return known->number; });
  build(*node, std::move(runs));
}

// Moves all runs below the node into `runs` and empties the node.
void VerdictTree::take(Node& node, Runs& runs) {
  if (node.leaf) {
    --count_;
    reads_ -= node.leaf->run.reads.size();
    runs.push_back(std::move(node.leaf));
  }
  for (auto& [contents, below] : node.below) take(below, runs);
  node.below.clear();
}

// Implements rule 4 (verdict_tree.hpp).
void VerdictTree::build(Node& node, Runs runs) {
  std::optional<std::uint64_t> unit;
  while (runs.size() > 1 && !(unit = distinguishing_unit(runs))) runs.pop_back();
  if (runs.size() == 1) {
    ++count_;
    reads_ += runs.front()->run.reads.size();
    node.leaf = std::move(runs.front());
    return;
  }
  node.unit = *unit;
  std::map<std::uint64_t, Runs> parts;
  for (auto& run : runs) parts[*run->contents(*unit)].push_back(std::move(run));
  for (auto& [contents, part] : parts) build(node.below[contents], std::move(part));
}

// Returns the first unit that distinguishes the runs, in the order of the oldest run's reads.
std::optional<std::uint64_t> VerdictTree::distinguishing_unit(const Runs& runs) {
  for (const Read& read : runs.front()->run.reads) {
    bool all = true, same = true;
    for (const auto& run : runs) {
      const std::optional<std::uint64_t> contents = run->contents(read.unit);
      all = all && contents.has_value();
      same = same && contents == read.contents;
    }
    if (all && !same) return read.unit;
  }
  return std::nullopt;
}

const VerdictTree::Run* VerdictTree::find(const ContentHashes& image) const {
  const Node* node = &root_;
  while (!node->below.empty()) {
    const auto below = node->below.find(image.of(node->unit));
    if (below == node->below.end()) return nullptr;
    node = &below->second;
  }
  if (!node->leaf) return nullptr;
  const Run& run = node->leaf->run;
  const bool agrees = std::ranges::all_of(
      run.reads, [&](const Read& read) { return image.of(read.unit) == read.contents; });
  return agrees ? &run : nullptr;
}

}  // namespace pmemsim
