// The energy of the work that sub-operations of all operations do (work_statistics.hpp).
#pragma once

#include <string>

#include "pmemsim/common/energy.hpp"

namespace pmemsim {

inline void add_work_energy(const EnergyBill& bill, Energy& energy) {
  const EnergyParameters& each = bill.prices();
  const auto add = [&](double& part, const std::string& work, Picojoules price) {
    part += bill.executed(work, price);
    energy.unused += bill.unused(work, price);
  };
  add(energy.pads, "pads", each.pad);
  add(energy.macs, "macs", each.sha1);
  add(energy.tree_hashes, "tree_hashes", each.sha1);
  add(energy.fingerprints, "md5s", each.md5);
  add(energy.fingerprints, "crc32s", each.crc32);
  add(energy.other_operations, "compressions", each.compression);
  add(energy.other_operations, "check_bits", each.check_bits);
}

}  // namespace pmemsim
