// Recovery from LAD (designs/atomicity/lad.hpp), which uses only state that survives a crash.
#pragma once

#include "pmemsim/designs/atomicity/lad.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Writes the lines of committed regions that controllers keep, and restores the old contents of
// lines that other regions had written in place. `pm` is the device, updated with the contents of
// the write pending queues. Recovery is idempotent.
void recover_lad(const Lad::Survivors& survivors, RecoveryView pm);

// Returns the core's last committed region: one controller's array suffices.
std::uint64_t committed_region(const Lad::Survivors& survivors, CoreId core);

}  // namespace pmemsim
