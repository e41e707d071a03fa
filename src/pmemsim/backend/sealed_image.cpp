#include "pmemsim/backend/sealed_image.hpp"

namespace pmemsim {

LineData unreadable_line() {
  LineData data;
  data.fill(std::byte{0xee});
  return data;
}

SealedImage::SealedImage(const EntryLayout& layout, const Seals& seals)
    : layout_(layout), seals_(seals), tree_(seals.tree == nullptr ? 1 : seals.tree->levels()) {}

void SealedImage::changed(Line place, const LineData& data, const Tell& tell) {
  const LineData before = device_.read(place);
  device_.write(place, data);
  if (layout_.holds_entries(place)) return entries_changed(place, before, data, tell);
  tell(place, read(place));
  const auto others = mapped_.find(place);
  if (others == mapped_.end()) return;
  for (const Line line : others->second) tell(line, read(line));
}

void SealedImage::entries_changed(Line place, const LineData& before, const LineData& data,
                                  const Tell& tell) {
  const Line first = layout_.first_covered(place);
  if (seals_.tree != nullptr) tree_.update(layout_.leaf_of(first), layout_.leaf(data));
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
}

// Rule 1.
LineData SealedImage::read(Line line) {
  const Seal entry = layout_.get(device_.read(layout_.line_of(line)), line);
  const LineData data = device_.read(entry.place);
  unreadable_.erase(line);
  if (entry.counter == 0) return data;
  if (seals_.authenticator != nullptr &&
      entry.mac != mac_of(*seals_.authenticator, seals_.defects.address ? Line{} : entry.place,
                          entry.counter, data)) {
    unreadable_.insert(line);
    return unreadable_line();
  }
  if (seals_.cipher == nullptr) return data;
  if (seals_.authenticator != nullptr) note_pad(entry, data);
  return seals_.cipher->apply(entry.place, entry.counter, data);
}

void SealedImage::note_pad(const Seal& entry, const LineData& sealed) {
  const auto [known, is_new] = sealed_.try_emplace({entry.place, entry.counter}, sealed);
  if (!is_new && known->second != sealed) pad_used_twice_ = true;
}

// Rule 2.
std::string SealedImage::problem() const {
  if (pad_used_twice_) return "two contents of a line have been encrypted with one pad";
  if (seals_.tree == nullptr || tree_.roots() == seals_.tree->roots()) return {};
  return "the root of the integrity tree isn't that of the entries in PM";
}

}  // namespace pmemsim
