#include "pmemsim/designs/atomicity/redo_regions.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "pmemsim/designs/atomicity/apply_record.hpp"

namespace pmemsim {

std::vector<LoggedRegion> regions_to_redo(const HwRedo::Survivors& survivors,
                                          const RecoveryView& pm) {
  std::vector<RegionRange> wanted;
  for (std::size_t core = 0; core < survivors.committed.size(); ++core) {
    wanted.push_back({survivors.in_place[core] + 1, survivors.committed[core]});
  }
  std::map<std::pair<CoreId, std::uint64_t>, LoggedRegion> found;
  for (const LoggedRecord& record : read_log(survivors.log, wanted, pm)) {
    const LogHeader& header = record.header;
    LoggedRegion& region = found[{header.core, header.region}];
    region.core = header.core;
    region.number = header.region;
    region.commit_order = std::max(region.commit_order, header.commit_order);
    region.records.push_back(record);
  }
  std::vector<LoggedRegion> regions;
  for (auto& [_, region] : found) {
    std::sort(region.records.begin(), region.records.end(), [](const auto& one, const auto& other) {
      return one.header.record < other.header.record;
    });
    regions.push_back(std::move(region));
  }
  if (survivors.order == CommitOrder::kGlobal) {
    std::sort(regions.begin(), regions.end(), [](const auto& one, const auto& other) {
      return one.commit_order < other.commit_order;
    });
  }  // otherwise they are in the order of cores
  return regions;
}

void redo(const LoggedRegion& region, RecoveryView& pm) {
  for (const LoggedRecord& record : region.records) apply_record(record, pm);
}

}  // namespace pmemsim
