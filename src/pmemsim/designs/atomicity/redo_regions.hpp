// Recovery from a hardware redo log (designs/atomicity/hw_redo.hpp): from what is left after a
// crash, and nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/designs/atomicity/hw_redo.hpp"
#include "pmemsim/designs/atomicity/log_reader.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Writes what committed regions have logged to its place. `pm` is the device, with what the write
// pending queues held on top. Doing it again changes nothing.
void recover_redo_log(const HwRedo::Survivors& survivors, RecoveryView pm);

// Its two steps.

struct LoggedRegion {
  CoreId core = 0;
  std::uint64_t number = 0;
  std::uint64_t commit_order = 0;  // in its last header
  std::vector<LoggedRecord> records;
};

// Those that have committed and whose logs aren't released, in the order in which to redo them.
std::vector<LoggedRegion> regions_to_redo(const HwRedo::Survivors& survivors,
                                          const RecoveryView& pm);

void redo(const LoggedRegion& region, RecoveryView& pm);

}  // namespace pmemsim
