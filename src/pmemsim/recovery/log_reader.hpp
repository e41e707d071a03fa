// Finding the records of a hardware log (atomicity/hardware_log.hpp) after a crash.
#pragma once

#include <array>
#include <vector>

#include "pmemsim/atomicity/hardware_log.hpp"
#include "pmemsim/mem/image.hpp"

namespace pmemsim {

struct LoggedRecord {
  LogHeader header;
  std::array<Line, kRecordEntries> entries{};  // where they stand
};

// All records that can be found from the survivors, headers from the persistent buffers before
// those in PM. Among them are records of regions that need them no more: the caller knows which.
std::vector<LoggedRecord> read_log(const LogSurvivors& survivors, const Image& pm);

}  // namespace pmemsim
