// Recovery from a hardware redo log (designs/atomicity/hw_redo.hpp), which uses only state that
// survives a crash.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/designs/atomicity/hw_redo.hpp"
#include "pmemsim/designs/atomicity/log_reader.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

struct LoggedRegion {
  CoreId core = 0;
  std::uint64_t number = 0;
  std::uint64_t commit_order = 0;  // position in the order of commits, from its last header
  std::vector<LoggedRecord> records;
};

// Returns the committed regions whose logs aren't released, in the order in which to redo them.
// `pm` is the device, updated with the contents of the write pending queues.
std::vector<LoggedRegion> regions_to_redo(const HwRedo::Survivors& survivors,
                                          const RecoveryView& pm);

// Writes the region's logged data in place. The function is idempotent.
void redo(const LoggedRegion& region, RecoveryView& pm);

}  // namespace pmemsim
