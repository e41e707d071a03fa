// The timings a channel obeys, worked out from the parameters. A fixed device is a DRAM whose row
// buffers are never open and whose banks are busy for as long as an access takes, and a buffered
// one has banks that are never busy; so there is one scheduler for all.
#pragma once

#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {

struct Timing {
  explicit Timing(const MemoryParameters& parameters);

  Picoseconds rcd, cl, cwd, rp, ras, wr, wtr, rtp, rtw, rrd, faw, burst, rfc, refi;
  bool close_rows;  // after each access
  // Reads and writes share nothing but the data bus: banks that one can't use serve the other.
  bool independent_banks;
};

}  // namespace pmemsim
