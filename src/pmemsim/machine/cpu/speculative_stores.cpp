#include "pmemsim/machine/cpu/speculative_stores.hpp"

#include <algorithm>

namespace pmemsim {

SpeculativeStores::Region& SpeculativeStores::region_of(CoreId core) {
  if (core >= regions_.size()) regions_.resize(core + 1);
  return regions_[core];
}

SpeculativeStores::Stored& SpeculativeStores::History::stored(CoreId core, std::uint32_t number) {
  return *std::find_if(stores.begin(), stores.end(), [&](const Stored& stored) {
    return stored.core == core && stored.number == number;
  });
}

// Begins the region, perhaps again after a rollback. Stores of its earlier execution keep their
// positions.
void SpeculativeStores::begin(CoreId core) { region_of(core).active = true; }

void SpeculativeStores::end(CoreId core) {
  Region& region = region_of(core);
  for (std::uint32_t number = 0; number < region.executed; ++number) {
    history(region.stores[number]).stored(core, number).core = kNoCore;
  }
  for (const Line line : region.stores) merge_final_stores(line);
  region.active = false;
  region.executed = 0;
  region.stores.clear();
}

void SpeculativeStores::store(CoreId core, std::uint64_t address,
                              std::span<const std::byte> value) {
  const std::size_t first = std::min<std::size_t>(value.size(), kLineBytes - address % kLineBytes);
  store_in_line(core, address, value.first(first));
  if (first < value.size()) store_in_line(core, address + first, value.subspan(first));
}

void SpeculativeStores::store_in_line(CoreId core, std::uint64_t address,
                                      std::span<const std::byte> value) {
  const Line line = Line::of(address);
  Region& region = region_of(core);
  if (region.active && region.executed < region.stores.size()) {  // executed before the rollback
    history(line).stored(core, region.executed++).applied = true;
    rebuild(line);
    return;
  }
  const std::uint32_t* const slot = lines_.find(line);
  if (slot != nullptr || region.active) {
    History& history = slot != nullptr ? histories_[*slot] : new_history(line);
    Stored stored{region.active ? core : kNoCore,
                  region.executed,
                  static_cast<std::uint8_t>(address % kLineBytes),
                  static_cast<std::uint8_t>(value.size()),
                  true,
                  {}};
    std::copy(value.begin(), value.end(), stored.value.begin());
    history.stores.push_back(stored);
  }
  newest_.write(address, value.data(), value.size());
  if (!region.active) return;
  region.stores.push_back(line);
  ++region.executed;
}

SpeculativeStores::History& SpeculativeStores::new_history(Line line) {
  const std::uint32_t slot = lines_.insert(line) = histories_.take();
  histories_[slot].before = newest_.read(line);
  return histories_[slot];
}

void SpeculativeStores::rebuild(Line line) {
  const History& history = this->history(line);
  LineData data = history.before;
  for (const Stored& stored : history.stores) {
    if (stored.applied)
      std::copy_n(stored.value.begin(), stored.size, data.begin() + stored.offset);
  }
  newest_.write(line, data);
}

// Applies the oldest stores to `before`, up to the first store that a rollback can still undo.
void SpeculativeStores::merge_final_stores(Line line) {
  const std::uint32_t* const slot = lines_.find(line);
  if (slot == nullptr) return;
  History& history = histories_[*slot];
  const auto is_final = [](const Stored& stored) { return stored.core == kNoCore; };
  const auto end = std::find_if_not(history.stores.begin(), history.stores.end(), is_final);
  for (auto stored = history.stores.begin(); stored != end; ++stored) {
    std::copy_n(stored->value.begin(), stored->size, history.before.begin() + stored->offset);
  }
  history.stores.erase(history.stores.begin(), end);
  if (!history.stores.empty()) return;
  histories_.release(*slot);
  lines_.erase(line);
}

}  // namespace pmemsim
