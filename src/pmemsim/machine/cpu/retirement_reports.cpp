#include "pmemsim/machine/cpu/retirement_reports.hpp"

#include <algorithm>
#include <utility>

namespace pmemsim {

void RetirementReports::load(std::uint64_t address, std::uint32_t size, bool forwarded, Slot slot) {
  if (!pm_space_.contains(address)) return;
  const Time when = clock_.time(slot);
  const auto to_the_end = static_cast<std::uint32_t>(kLineBytes - address % kLineBytes);
  const std::uint32_t first = std::min(size, to_the_end);
  design_.load({core_, address, first, region_, forwarded}, when);
  if (first == size) return;
  design_.load({core_, address + first, size - first, region_, forwarded}, when);
}

// The value is still in the ring buffer, even if the store has left the queue.
std::uint32_t RetirementReports::store(const StoreEntry& store, std::uint32_t segments, Slot slot) {
  if (!store.writes) return segments;
  for (std::uint32_t done = 0; done < store.size; done += RetiredStore::kMostBytes) {
    const std::uint32_t bytes = std::min(RetiredStore::kMostBytes, store.size - done);
    design_.stored({core_, piece_site(store.site, segments++), store.address + done,
                    std::span(store.value).subspan(done, bytes)},
                   clock_.time(slot));
  }
  return segments;
}

void RetirementReports::retire_hint(Slot slot) {
  PendingHint pending = std::move(hints_.front());
  hints_.pop_front();
  pending.hint.data = pending.data;
  design_.hint(core_, pending.hint, clock_.time(slot));
}

void RetirementReports::region_begins(Slot slot) {
  region_began_ = slot;
  region_ = ++regions_;
  log_region(Stage::kRegionBegin, slot);
}

RetirementReports::RetiredRegion RetirementReports::region_ends(Slot slot) {
  log_region(Stage::kRegionEnd, slot);
  events_.region_ended(core_, region_, clock_.time(slot));
  return {std::exchange(region_, 0), region_began_};
}

void RetirementReports::log_region(Stage stage, Slot slot) const {
  StageLog* const stages = events_.stages();
  if (stages == nullptr) return;
  stages->add({.stage = stage, .unit = core_, .id = region_, .at = {clock_.time(slot)}});
}

void RetirementReports::roll_back(std::uint64_t region) {
  hints_.clear();
  regions_ = region - 1;
  region_ = 0;
}

}  // namespace pmemsim
