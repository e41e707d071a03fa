#include "pmemsim/recovery/lad.hpp"

#include <algorithm>

#include "pmemsim/recovery/apply_record.hpp"

namespace pmemsim {

std::uint64_t committed_region(const Lad::Survivors& survivors, CoreId core) {
  std::uint64_t region = 0;
  for (const auto& array : survivors.committed) region = std::max(region, array.at(core));
  return region;
}

void recover_lad(const Lad::Survivors& survivors, Image& pm) {
  for (const Lad::Survivors::Kept& kept : survivors.kept) {
    if (kept.region <= committed_region(survivors, kept.core)) pm.write(kept.line, kept.data);
  }
  // A region logs a line once, so the order of its records doesn't matter. What earlier regions
  // have left in the log has numbers that are too low.
  const std::size_t cores = survivors.committed.front().size();
  for (const LoggedRecord& record : read_log(survivors.log, pm)) {
    const LogHeader& header = record.header;
    if (header.core >= cores) continue;
    if (header.region > committed_region(survivors, header.core)) apply_record(record, pm);
  }
}

}  // namespace pmemsim
