// Check of stores that a thread computes from other threads' data while these data are possibly
// lost: rule P9 of program_check.hpp.
#pragma once

#include <cstdint>

#include "pmemsim/checks/rules/flush_check.hpp"
#include "pmemsim/checks/rules/flushed_later.hpp"
#include "pmemsim/checks/rules/read_values.hpp"

namespace pmemsim::check {

class ReadCheck {
 public:
  ReadCheck(FlushedLater& findings, const Lines& lines, const FlushCheck& flushes,
            const ReadValues& values)
      : findings_(findings), lines_(lines), flushes_(flushes), values_(values) {}

  // Processes a store to persistent memory. Returns true if it depends on possibly lost data.
  bool store_pm(const At& at, std::uint64_t address);

 private:
  FlushedLater& findings_;
  const Lines& lines_;
  const FlushCheck& flushes_;
  const ReadValues& values_;
};

}  // namespace pmemsim::check
