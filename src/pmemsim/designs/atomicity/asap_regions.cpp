#include "pmemsim/designs/atomicity/asap_regions.hpp"

#include <algorithm>
#include <utility>

namespace pmemsim {

AsapRegions::List AsapRegions::full_list(CoreId core, std::uint64_t number) const {
  if (cores_[core].cl_entries == parameters_.cl_entries) return List::kClList;
  const bool full = dependence_entries_[channel_of(number)] == parameters_.dependence_entries;
  return full ? List::kDependenceList : List::kNone;
}

AsapRegion& AsapRegions::begin(CoreId core, std::uint64_t number) {
  ++cores_[core].cl_entries;
  ++dependence_entries_[channel_of(number)];
  ++uncommitted_;
  AsapRegion& region = cores_[core].regions.emplace_back();
  region.core = core;
  region.number = number;
  region.channel = channel_of(number);
  return region;
}

void AsapRegions::finish(AsapRegion& region) {
  region.finished = true;
  --cores_[region.core].cl_entries;
}

AsapRegion AsapRegions::commit(Rid rid) {
  AsapRegion& own = *active(rid);
  own.committed = true;
  AsapRegion region = std::move(own);
  std::deque<AsapRegion>& regions = cores_[region.core].regions;
  while (!regions.empty() && regions.front().committed) regions.pop_front();
  --dependence_entries_[region.channel];
  --uncommitted_;
  return region;
}

void AsapRegions::broadcast(Rid committed, std::vector<Rid>& ready) {
  for_each([&](AsapRegion& other) {
    if (std::erase(other.dependences, committed) == 0) return;
    if (other.persisted && other.dependences.empty()) ready.push_back(other.rid());
  });
}

AsapRegions::Dependence AsapRegions::depend(AsapRegion& region, Rid on) {
  AsapRegion* const other = active(on);
  if (other == nullptr || other == &region || parameters_.faults.dependences ||
      std::ranges::find(region.dependences, on) != region.dependences.end()) {
    return Dependence::kNotNeeded;
  }
  if (region.depended_on &&
      any_before(on, [&region](const AsapRegion& before) { return &before == &region; })) {
    return Dependence::kWouldBeCycle;
  }
  other->depended_on = true;
  region.dependences.push_back(on);
  return Dependence::kAdded;
}

// True if the predicate holds for the region or for one that it depends on, directly or not. Each
// region is checked once: there may be very many paths between two regions.
template <class Predicate>
bool AsapRegions::any_before(Rid rid, Predicate predicate) const {
  std::vector<Rid> found{rid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const AsapRegion* const region = active(found[i]);
    if (region == nullptr) continue;
    if (predicate(*region)) return true;
    for (const Rid on : region->dependences) {
      if (std::ranges::find(found, on) == found.end()) found.push_back(on);
    }
  }
  return false;
}

bool AsapRegions::will_commit(Rid rid) const {
  return !any_before(rid, [](const AsapRegion& region) { return !region.ended; });
}

// A region that acquires locks inside could stall for a region that its own stall blocks. It
// therefore stalls only for regions that commit without further progress of any thread.
bool AsapRegions::must_wait(const AsapRegion& region, std::size_t more) const {
  const auto& list = region.dependences;
  return list.size() + more > parameters_.dependence_slots &&
         std::any_of(list.begin(), list.end(), [this](Rid on) { return will_commit(on); });
}

}  // namespace pmemsim
