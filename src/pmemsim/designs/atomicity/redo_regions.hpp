// Recovery from a hardware redo log (designs/atomicity/hw_redo.hpp): from what is left after a
// crash, and nothing else.
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
  std::uint64_t commit_order = 0;  // in its last header
  std::vector<LoggedRecord> records;
};

// Those that have committed and whose logs aren't released, in the order in which to redo them.
// `pm` is the device, with what the write pending queues held on top.
std::vector<LoggedRegion> regions_to_redo(const HwRedo::Survivors& survivors,
                                          const RecoveryView& pm);

// Writes what the region has logged to its place. Doing it again changes nothing.
void redo(const LoggedRegion& region, RecoveryView& pm);

}  // namespace pmemsim
