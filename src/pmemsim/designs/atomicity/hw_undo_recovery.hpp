// Recovery from a hardware undo log (designs/atomicity/hw_undo.hpp), which uses only state that
// survives a crash.
#pragma once

#include "pmemsim/designs/atomicity/hw_undo.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Restores the old contents of the lines of all uncommitted regions. `pm` is the device, updated
// with the contents of the write pending queues. Recovery is idempotent.
void recover_undo_log(const HwUndo::Survivors& survivors, RecoveryView pm);

}  // namespace pmemsim
