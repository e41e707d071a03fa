// What is left of a hardware log after a crash, beside PM and what the controllers have accepted.
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
  std::uint64_t header_stride = 1;          // load-aware: from a header's first line to its second
  std::uint64_t growths = 0;                // load-aware: how often the banks' regions have grown
  std::vector<BufferedHeader> headers;
};

}  // namespace pmemsim
