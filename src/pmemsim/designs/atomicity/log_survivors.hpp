// The state of a hardware log that survives a crash, besides PM and the writes that the controllers
// have accepted.
#pragma once

#include <optional>
#include <vector>

#include "pmemsim/designs/atomicity/log_record.hpp"

namespace pmemsim {

struct LogSurvivors {
  struct Ring {
    Line first;
    std::uint64_t lines;
    bool operator==(const Ring&) const = default;
  };
  std::vector<Ring> rings;                  // sequential_log.hpp: address and size registers
  std::vector<std::optional<Line>> newest;  // load_aware_log.hpp: the cores' LR registers
  std::uint64_t header_stride = 1;          // load_aware_log.hpp: distance of a header's two lines
  std::uint64_t growths = 0;  // load_aware_log.hpp: number of times that regions have grown
  std::vector<BufferedHeader> headers;
};

}  // namespace pmemsim
