// Recovery from a hardware undo log (designs/atomicity/hw_undo.hpp): from what is left after a
// crash, and nothing else.
#pragma once

#include "pmemsim/designs/atomicity/hw_undo.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Gives the lines of all regions that had not committed their old contents back. `pm` is the
// device, with what the write pending queues held on top. Doing it again changes nothing.
void recover_undo_log(const HwUndo::Survivors& survivors, RecoveryView pm);

}  // namespace pmemsim
