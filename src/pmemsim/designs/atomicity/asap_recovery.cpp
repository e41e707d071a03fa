#include "pmemsim/designs/atomicity/asap_recovery.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "pmemsim/designs/atomicity/apply_record.hpp"

namespace pmemsim {
namespace {

using Uncommitted = std::pair<Asap::Rid, std::vector<Asap::Rid>>;

// Returns the log records of the cores' uncommitted regions, and of regions between them.
std::vector<LoggedRecord> find_records(const Asap::Survivors& survivors, const RecoveryView& pm) {
  std::vector<RegionRange> wanted;
  for (const auto& [rid, _] : survivors.dependences) {
    const CoreId core = core_of(rid);
    if (core >= wanted.size()) wanted.resize(core + 1, {UINT64_MAX, 0});
    wanted[core].first = std::min(wanted[core].first, region_number(rid));
    wanted[core].last = std::max(wanted[core].last, region_number(rid));
  }
  return read_log(survivors.log, wanted, pm);
}

}  // namespace

void recover_asap(const Asap::Survivors& survivors, RecoveryView pm) {
  const std::vector<LoggedRecord> records = find_records(survivors, pm);
  std::vector<const Uncommitted*> left;
  left.reserve(survivors.dependences.size());
  for (const Uncommitted& region : survivors.dependences) left.push_back(&region);
  while (!left.empty()) {
    // The list has no cycles, so there is a region on which none of the remaining regions depends.
    const auto last = std::ranges::find_if(left, [&](const Uncommitted* candidate) {
      return std::ranges::none_of(left, [&](const Uncommitted* other) {
        return std::ranges::find(other->second, candidate->first) != other->second.end();
      });
    });
    for (const LoggedRecord& record : records) {
      const Asap::Rid owner = Asap::rid(record.header.core, record.header.region);
      if (owner == (*last)->first) apply_record(record, pm);
    }
    left.erase(last);
  }
}

}  // namespace pmemsim
