// Writes the contents of a log record to the lines' home addresses: old contents if the record is
// from an undo log, new contents if it is from a redo log.
#pragma once

#include "pmemsim/designs/atomicity/log_reader.hpp"

namespace pmemsim {

inline void apply_record(const LoggedRecord& record, RecoveryView& pm) {
  for (std::uint32_t entry = 0; entry < kRecordEntries; ++entry) {
    if ((record.header.valid >> entry & 1) == 0) continue;
    pm.write(record.header.homes[entry], pm.read(record.entries[entry]));
  }
}

}  // namespace pmemsim
