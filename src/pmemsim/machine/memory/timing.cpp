#include "pmemsim/machine/memory/timing.hpp"

#include <cmath>

namespace pmemsim {

Timing::Timing(const MemoryParameters& p) {
  const auto scaled = [&](Picoseconds time) {
    return Picoseconds{std::llround(static_cast<double>(time.count) * p.latency_factor.value)};
  };
  burst = p.tburst;
  rfc = p.trfc;
  refi = p.trefi;
  independent_banks = p.device != DeviceKind::kDram;
  if (independent_banks) {
    const bool buffered = p.device == DeviceKind::kBuffered;
    cl = scaled(buffered ? p.buffer_latency : p.read_latency);
    wr = buffered ? Picoseconds{0} : scaled(p.write_latency);
    // A bank of a fixed device is busy until its data have left. A buffered device has no banks
    // that could be busy.
    rtp = buffered ? burst : cl + burst;
    const bool pipelined = !buffered && p.write_occupancy > Picoseconds{0};
    write_busy = pipelined ? scaled(p.write_occupancy) : wr;
    rcd = cwd = rp = ras = wtr = rtw = rrd = faw = Picoseconds{0};
    close_rows = true;
  } else {
    rcd = scaled(p.trcd);
    cl = scaled(p.tcl);
    cwd = scaled(p.tcwd);
    rp = scaled(p.trp);
    ras = scaled(p.tras);
    wr = write_busy = scaled(p.twr);
    rtp = scaled(p.trtp);
    wtr = p.twtr;
    rtw = p.trtw;
    rrd = p.trrd;
    faw = p.tfaw;
    close_rows = p.page_policy == PagePolicy::kClosed;
  }
}

}  // namespace pmemsim
