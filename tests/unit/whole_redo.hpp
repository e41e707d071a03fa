// A recovery that redoes a whole redo log. An incremental recovery must leave the same image.
#pragma once

#include "pmemsim/designs/atomicity/redo_regions.hpp"

namespace pmemsim {

inline void recover_redo_log(const HwRedo::Survivors& survivors, RecoveryView pm) {
  for (const LoggedRegion& region : regions_to_redo(survivors, pm)) redo(region, pm);
}

}  // namespace pmemsim
