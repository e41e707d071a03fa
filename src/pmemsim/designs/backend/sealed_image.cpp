#include "pmemsim/designs/backend/sealed_image.hpp"

#include <utility>

#include "pmemsim/designs/backend/placement_tables.hpp"

namespace pmemsim {

LineData unreadable_line() {
  LineData data;
  data.fill(std::byte{0xee});
  return data;
}

SealedImage::SealedImage(const EntryLayout& layout, ImageKeys keys)
    : layout_(layout), keys_(std::move(keys)), tree_(keys_.tree_levels) {}

// Begins without any line whose data are at another line's place. `tell` isn't called, since the
// caller has the plain contents of all lines.
void SealedImage::begin(const Image& device) {
  was_initialised_ = true;
  device.for_each_page([&](std::uint64_t address, const std::byte* page) {
    device_.write(address, page, Image::kPageBytes);
    for (std::uint64_t at = 0; at < Image::kPageBytes && keys_.roots; at += kLineBytes) {
      const Line place = Line::of(address + at);
      if (!layout_.holds_entries(place)) return;
      const std::uint64_t leaf = layout_.leaf_of(layout_.first_covered(place));
      tree_.update(leaf, layout_.leaf(device_.read(place)));
      note_nodes(leaf);
    }
  });
}

void SealedImage::changed(Line place, const LineData& data, const Tell& tell) {
  if (keys_.nodes_persisted && is_node(place)) {
    device_.write(place, data);
    nodes_to_compare_.insert(place);
  }
  if (layout_.holds_rebuilt_metadata(place)) return;
  const LineData before = device_.read(place);
  if (was_initialised_) note_initial_seal(place, before);
  device_.write(place, data);
  if (layout_.holds_entries(place)) return entries_changed(place, before, data, tell);
  if (keys_.placements != nullptr) to_compare_.insert(place);
  tell(place, read(place));
  const auto others = mapped_.find(place);
  if (others == mapped_.end()) return;
  for (const Line line : others->second) tell(line, read(line));
}

void SealedImage::entries_changed(Line place, const LineData& before, const LineData& data,
                                  const Tell& tell) {
  const Line first = layout_.first_covered(place);
  if (keys_.roots) tree_.update(layout_.leaf_of(first), layout_.leaf(data));
  note_nodes(layout_.leaf_of(first));
  for (std::uint64_t i = 0; i < layout_.lines_covered(); ++i) {
    const Line line{first.number + i};
    const Seal old = layout_.get(before, line);
    const Seal entry = layout_.get(data, line);
    if (old == entry) continue;
    map(line, old.place, entry.place);
    tell(line, read(line));
  }
}

void SealedImage::map(Line line, Line from, Line to) {
  if (from != line) mapped_[from].erase(line);
  if (to != line) mapped_[to].insert(line);
  if (keys_.placements != nullptr) to_compare_.insert({from, to});
}

// Implements rule 1 (sealed_image.hpp).
LineData SealedImage::read(Line line) {
  const Seal entry = this->entry(line);
  const std::optional<LineData> data = open(entry);
  if (!data) {
    unreadable_.insert(line);
    return unreadable_line();
  }
  unreadable_.erase(line);
  if (entry.counter != 0 && keys_.cipher != nullptr && keys_.authenticator != nullptr) {
    note_pad(entry);
  }
  return *data;
}

std::optional<LineData> SealedImage::open(const Seal& entry) const {
  const LineData data = device_.read(entry.place);
  if (entry.counter == 0) {
    const bool verified = keys_.authenticator != nullptr;
    return verified && (data != LineData{} || entry.mac != 0) ? std::nullopt : std::optional(data);
  }
  if (keys_.authenticator != nullptr &&
      entry.mac != mac_of(*keys_.authenticator, keys_.macs_have_address ? entry.place : Line{},
                          entry.counter, data)) {
    return {};
  }
  if (keys_.cipher == nullptr) return data;
  return keys_.cipher->apply(entry.place, entry.counter, data);
}

void SealedImage::note_pad(const Seal& entry) {
  const LineData sealed = device_.read(entry.place);
  const auto [known, is_new] = sealed_.try_emplace({entry.place, entry.counter}, sealed);
  if (!is_new && known->second != sealed) pad_used_twice_ = true;
}

void SealedImage::note_initial_seal(Line place, const LineData& before) {
  const Seal own = entry(place);
  if (own.counter != kInitialCounter || own.place != place) return;
  sealed_.try_emplace({place, own.counter}, before);
}

std::string SealedImage::problem() const {
  if (pad_used_twice_) return "two versions of a line were encrypted with the same one-time pad";
  if (keys_.roots && tree_.roots() != keys_.roots()) {
    return "the root of the integrity tree does not match the entries in PM";
  }
  if (std::string problem = problem_of_nodes(); !problem.empty()) return problem;
  return problem_of_places();
}

// ---- Rule 2 (sealed_image.hpp)

void SealedImage::note_nodes(std::uint64_t leaf) {
  if (!keys_.nodes_persisted) return;
  for (std::uint32_t level = 1; level < keys_.tree_levels; ++level) {
    nodes_to_compare_.insert(MerkleTree::node_above(leaf, level));
  }
}

// Compares nodes. A node that is wrong is compared again until it is right.
std::string SealedImage::problem_of_nodes() const {
  while (!nodes_to_compare_.empty()) {
    const Line node = *nodes_to_compare_.begin();
    if (device_.read(node) != tree_.node(node)) {
      return "a node of the integrity tree in PM does not match its children";
    }
    nodes_to_compare_.erase(nodes_to_compare_.begin());
  }
  return {};
}

std::uint64_t SealedImage::duplicated_lines() const {
  std::uint64_t lines = 0;
  for (const auto& [_, others] : mapped_) lines += others.size();
  return lines;
}

// ---- Rule 3 (sealed_image.hpp)

bool SealedImage::is_at_home(Line place) const {
  const Seal own = entry(place);
  return own.counter != 0 && own.place == place;
}

std::uint64_t SealedImage::references(Line place) const {
  const auto others = mapped_.find(place);
  return (others == mapped_.end() ? 0 : others->second.size()) + is_at_home(place);
}

std::optional<std::pair<Line, LineData>> SealedImage::read_at(Line place) const {
  const auto read = [&](Line line) -> std::optional<std::pair<Line, LineData>> {
    if (keys_.placements != nullptr && keys_.placements->is_stale(line)) return {};
    if (const auto data = open(entry(line))) return {{line, *data}};
    return {};
  };
  if (is_at_home(place)) {
    if (const auto found = read(place)) return found;
  }
  const auto others = mapped_.find(place);
  if (others == mapped_.end()) return {};
  for (const Line line : others->second) {
    if (const auto found = read(line)) return found;
  }
  return {};
}

// Compares places. A place that is wrong is compared again until it is right.
std::string SealedImage::problem_of_places() const {
  if (keys_.placements == nullptr) return {};
  for (const Line place : keys_.placements->changed_places()) to_compare_.insert(place);
  if (keys_.entries_behind && keys_.entries_behind()) return {};
  while (!to_compare_.empty()) {
    std::string problem = keys_.placements->problem(*to_compare_.begin(), *this);
    if (!problem.empty()) return problem;
    to_compare_.erase(to_compare_.begin());
  }
  return {};
}

}  // namespace pmemsim
