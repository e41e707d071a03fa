#include "pmemsim/designs/atomicity/asap_recovery.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pmemsim/designs/atomicity/apply_record.hpp"

namespace pmemsim {
namespace {

// A region that has to be undone.
struct Undone {
  std::uint64_t rid;
  const std::vector<std::uint64_t>& dependences;
  std::vector<LoggedRecord> records;
};

// Returns the regions that have to be undone, by their identifiers in ascending order.
std::vector<Undone> find_undone(const Asap::Survivors& survivors, const RecoveryView& pm) {
  std::vector<Undone> found;
  found.reserve(survivors.dependences.size());
  std::vector<RegionRange> wanted;
  for (const auto& [rid, dependences] : survivors.dependences) {
    found.push_back({rid, dependences, {}});
    const CoreId core = core_of(rid);
    if (core >= wanted.size()) wanted.resize(core + 1, {UINT64_MAX, 0});
    wanted[core].first = std::min(wanted[core].first, region_number(rid));
    wanted[core].last = std::max(wanted[core].last, region_number(rid));
  }
  for (const LoggedRecord& record : read_log(survivors.log, wanted, pm)) {
    const std::uint64_t rid = Asap::rid(record.header.core, record.header.region);
    const auto region = std::ranges::lower_bound(found, rid, {}, &Undone::rid);
    if (region != found.end() && region->rid == rid) region->records.push_back(record);
  }
  return found;
}

}  // namespace

void recover_asap(const Asap::Survivors& survivors, RecoveryView pm) {
  const std::vector<Undone> undone = find_undone(survivors, pm);
  std::vector<const Undone*> left;
  for (const Undone& region : undone) left.push_back(&region);
  while (!left.empty()) {
    // The list has no cycles, so there is a region on which none of the remaining regions depends.
    const auto last = std::ranges::find_if(left, [&](const Undone* candidate) {
      return std::ranges::none_of(left, [&](const Undone* other) {
        return std::ranges::find(other->dependences, candidate->rid) != other->dependences.end();
      });
    });
    for (const LoggedRecord& record : (*last)->records) apply_record(record, pm);
    left.erase(last);
  }
}

}  // namespace pmemsim
