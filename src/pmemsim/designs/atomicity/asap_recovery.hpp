// Recovery from ASAP's log (designs/atomicity/asap.hpp; ASAP, section 5.5), which uses only state
// that survives a crash.
#pragma once

#include "pmemsim/designs/atomicity/asap.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

// Undoes the regions in the Dependence Lists, each before those that it depends on. `pm` is the
// device, updated with the contents of the write pending queues. Recovery is idempotent.
void recover_asap(const Asap::Survivors& survivors, RecoveryView pm);

}  // namespace pmemsim
