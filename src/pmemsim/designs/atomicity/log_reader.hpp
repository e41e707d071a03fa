// Finds the records of a hardware log (designs/atomicity/hardware_log.hpp) after a crash.
#pragma once

#include <array>
#include <vector>

#include "pmemsim/designs/atomicity/hardware_log.hpp"
#include "pmemsim/designs/interface/recovery_view.hpp"

namespace pmemsim {

struct LoggedRecord {
  LogHeader header;
  Line place;                                  // location of the header, written or to be written
  std::array<Line, kRecordEntries> entries{};  // locations of the entries
};

// The range of a core's regions whose records are wanted.
struct RegionRange {
  std::uint64_t first = 1, last = UINT64_MAX;
};

// Returns the records of these regions (by core) that can be found from the survivors. Headers in
// the persistent buffers take precedence over those in PM.
std::vector<LoggedRecord> read_log(const LogSurvivors& survivors,
                                   const std::vector<RegionRange>& wanted, const RecoveryView& pm);

}  // namespace pmemsim
