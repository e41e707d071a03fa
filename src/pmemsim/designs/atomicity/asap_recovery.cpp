#include "pmemsim/designs/atomicity/asap_recovery.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "pmemsim/designs/atomicity/apply_record.hpp"

namespace pmemsim {
namespace {

using Records = std::vector<LoggedRecord>;

// Returns the records of the regions that have to be undone.
std::map<std::uint64_t, Records> find_records(const Asap::Survivors& survivors,
                                              const RecoveryView& pm) {
  std::map<std::uint64_t, Records> found;
  std::vector<RegionRange> wanted;
  for (const auto& [rid, _] : survivors.dependences) {
    found[rid];
    const CoreId core = core_of(rid);
    if (core >= wanted.size()) wanted.resize(core + 1, {UINT64_MAX, 0});
    wanted[core].first = std::min(wanted[core].first, region_number(rid));
    wanted[core].last = std::max(wanted[core].last, region_number(rid));
  }
  for (const LoggedRecord& record : read_log(survivors.log, wanted, pm)) {
    const auto region = found.find(Asap::rid(record.header.core, record.header.region));
    if (region != found.end()) region->second.push_back(record);
  }
  return found;
}

}  // namespace

void recover_asap(const Asap::Survivors& survivors, RecoveryView pm) {
  std::map<std::uint64_t, Records> left = find_records(survivors, pm);
  while (!left.empty()) {
    // The list has no cycles, so there is a region on which none of the remaining regions depends.
    const auto last = std::find_if(left.begin(), left.end(), [&](const auto& candidate) {
      return std::none_of(left.begin(), left.end(), [&](const auto& other) {
        const auto& on = survivors.dependences.at(other.first);
        return std::find(on.begin(), on.end(), candidate.first) != on.end();
      });
    });
    for (const LoggedRecord& record : last->second) apply_record(record, pm);
    left.erase(last);
  }
}

}  // namespace pmemsim
