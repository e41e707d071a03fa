// Recovery from ASAP's log (designs/atomicity/asap.hpp; ASAP, section 5.5): from what is left after
// a crash, and nothing else.
#pragma once

#include "pmemsim/designs/atomicity/asap.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Undoes the regions in the Dependence Lists, each before those it depends on. `pm` is the device,
// with what the write pending queues held on top. Doing it again changes nothing.
void recover_asap(const Asap::Survivors& survivors, RecoveryView pm);

}  // namespace pmemsim
