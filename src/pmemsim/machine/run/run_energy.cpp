#include "pmemsim/machine/run/run_energy.hpp"

#include "pmemsim/designs/design_energy.hpp"

namespace pmemsim {

Energy energy_of(const EnergyBill& bill, const Blueprint& blueprint) {
  const EnergyParameters& each = bill.prices();
  Energy energy;
  energy.cores = bill.over_core_time(each.core);
  energy.dram = bill.lines("dram.bytes_read", each.dram_read) +
                bill.lines("dram.bytes_written", each.dram_write);
  energy.pm_reads = bill.lines("pm.bytes_read", each.pm_read);
  energy.pm_data_writes = bill.lines("pm.data_bytes_written", each.pm_write);
  energy.pm_log_writes = bill.lines("pm.log_bytes_written", each.pm_write);
  energy.pm_metadata_writes =
      bill.lines("pm.bytes_written", each.pm_write) - energy.pm_data_writes - energy.pm_log_writes;
  add_design_energy(blueprint, bill, energy);
  return energy;
}

}  // namespace pmemsim
