#include "pmemsim/designs/atomicity/hw_undo_recovery.hpp"

#include "pmemsim/designs/atomicity/apply_record.hpp"

namespace pmemsim {

// A region logs a line once, so the order of its records doesn't matter.
void recover_undo_log(const HwUndo::Survivors& survivors, RecoveryView pm) {
  std::vector<RegionRange> uncommitted;
  for (const std::uint64_t region : survivors.committed)
    uncommitted.push_back({.first = region + 1});
  for (const LoggedRecord& record : read_log(survivors.log, uncommitted, pm)) {
    apply_record(record, pm);
  }
}

}  // namespace pmemsim
