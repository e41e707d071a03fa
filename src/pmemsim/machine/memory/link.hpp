// One direction of a link between a host and its device (CXL). Lines are sent one after the other;
// each then takes the latency of the link. Requests without data do not occupy the link.
#pragma once

#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {

class Link {
 public:
  explicit Link(const MemoryParameters& parameters)
      : latency_(parameters.link_latency),
        line_time_{parameters.link_bandwidth.count == 0
                       ? 0
                       : static_cast<std::int64_t>(kLineBytes * 1'000'000'000'000 /
                                                   parameters.link_bandwidth.count)} {}

  Picoseconds latency() const { return latency_; }
  Time free_at() const { return free_at_; }

  // Sends a line that may start at `from`. Returns the time of its arrival at the other end.
  Time send_line(Time from) {
    if (line_time_.count == 0) return from + latency_;
    free_at_ = max(from, free_at_) + line_time_;
    return free_at_ + latency_;
  }

 private:
  Picoseconds latency_;
  Picoseconds line_time_;
  Time free_at_{};
};

// Both directions of one controller's link.
struct LinkPair {
  explicit LinkPair(const MemoryParameters& parameters)
      : to_device(parameters), to_host(parameters) {}
  Link to_device;
  Link to_host;
};

}  // namespace pmemsim
