// Recovery from a hardware redo log (atomicity/hw_redo.hpp): from what is left after a crash, and
// nothing else.
#pragma once

#include "pmemsim/atomicity/hw_redo.hpp"
#include "pmemsim/recovery/recovery_view.hpp"

namespace pmemsim {

// Writes what committed regions have logged to its place. `pm` is the device, with what the write
// pending queues held on top. Doing it again changes nothing.
void recover_redo_log(const HwRedo::Survivors& survivors, RecoveryView pm);

}  // namespace pmemsim
