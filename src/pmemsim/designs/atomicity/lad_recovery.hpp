// Recovery from LAD (designs/atomicity/lad.hpp): from what is left after a crash, and nothing else.
#pragma once

#include "pmemsim/designs/atomicity/lad.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Writes the lines that controllers keep of committed regions, and gives the lines that others had
// written in place their old contents back. `pm` is the device, with what the write pending queues
// held on top. Doing it again changes nothing.
void recover_lad(const Lad::Survivors& survivors, RecoveryView pm);

// The core's last committed region: one controller's word is enough.
std::uint64_t committed_region(const Lad::Survivors& survivors, CoreId core);

}  // namespace pmemsim
