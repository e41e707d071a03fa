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
  std::vector<Ring> rings;                  // sequential: address and size registers
  std::vector<std::optional<Line>> newest;  // load-aware: the cores' LR registers
  std::uint64_t header_stride = 1;          // load-aware: lines from a header's first to its second
  std::uint64_t growths = 0;  // load-aware: number of times the banks' regions have grown
  std::vector<BufferedHeader> headers;
};

}  // namespace pmemsim
