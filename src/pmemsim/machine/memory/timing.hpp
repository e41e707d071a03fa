// The timings of a channel, computed from the parameters. One scheduler serves all kinds of device.
// A fixed device is a DRAM whose row buffers are never open and whose banks are busy for the whole
// access, or for `write_occupancy` if a bank receives data while it still writes others. A buffered
// device has banks that are never busy.
#pragma once

#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {

struct Timing {
  explicit Timing(const MemoryParameters& parameters);

  Picoseconds rcd, cl, cwd, rp, ras, wr, wtr, rtp, rtw, rrd, faw, burst, rfc, refi;
  Picoseconds write_busy;  // from a write's last data until its bank can start another access
  bool close_rows;         // close the row after each access
  // Reads and writes share only the data bus: banks that cannot serve one kind may serve the other.
  bool independent_banks;
};

}  // namespace pmemsim
