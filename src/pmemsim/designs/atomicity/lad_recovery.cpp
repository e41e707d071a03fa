#include "pmemsim/designs/atomicity/lad_recovery.hpp"

#include <algorithm>

#include "pmemsim/designs/atomicity/apply_record.hpp"

namespace pmemsim {

std::uint64_t committed_region(const Lad::Survivors& survivors, CoreId core) {
  std::uint64_t region = 0;
  for (const auto& array : survivors.committed) region = std::max(region, array.at(core));
  return region;
}

void recover_lad(const Lad::Survivors& survivors, RecoveryView pm) {
  for (const Lad::Survivors::Kept& kept : survivors.kept) {
    if (kept.region <= committed_region(survivors, kept.core)) pm.write(kept.line, kept.data);
  }
  // A region logs a line once, so the order of its records doesn't matter.
  std::vector<RegionRange> uncommitted;
  for (CoreId core = 0; core < survivors.committed.front().size(); ++core) {
    uncommitted.push_back({.first = committed_region(survivors, core) + 1});
  }
  for (const LoggedRecord& record : read_log(survivors.log, uncommitted, pm)) {
    apply_record(record, pm);
  }
}

}  // namespace pmemsim
