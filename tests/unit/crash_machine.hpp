// A machine with small structures, to crash programs that use few lines.
#pragma once

#include <string_view>
#include <vector>

#include "pmemsim/machine/run/configuration.hpp"
#include "run_trace.hpp"

namespace pmemsim {

// Small caches and queues, so that lines are evicted inside their regions and the log is written to
// PM. The log is a ring of eight records, so that it wraps around and grows.
inline Configuration crash_configuration(const std::vector<KeyValue>& more,
                                         std::string_view wpq_entries = "8") {
  return configure(settings({{"ordering", "x86"},
                             {"core.count", "1"},
                             {"l1.size", "256B"},
                             {"l1.ways", "2"},
                             {"l2.size", "0B"},
                             {"shared.size", "512B"},
                             {"shared.size_per_core", "0B"},
                             {"shared.ways", "2"},
                             {"pm.wpq_entries", wpq_entries},
                             {"pm.controllers", "2"},
                             {"log.ring_size", "4KiB"},
                             {"log.free_entries", "16"},
                             {"log.free_headers", "16"}},
                            more));
}

}  // namespace pmemsim
