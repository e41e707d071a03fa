// The blocks that recovery leaves out when it rebuilds LALEA's FIFOs of free blocks, which a crash
// loses (LALEA, III-A; designs/atomicity/load_aware_log.hpp, rule 5).
#pragma once

#include <set>
#include <vector>

#include "pmemsim/designs/atomicity/log_reader.hpp"

namespace pmemsim {

// Returns the blocks of these records: the first lines of their headers, and their entries.
inline std::set<Line> blocks_in_use(const std::vector<LoggedRecord>& records) {
  std::set<Line> blocks;
  for (const LoggedRecord& record : records) {
    blocks.insert(record.place);
    for (std::uint32_t entry = 0; entry < kRecordEntries; ++entry) {
      if (record.header.valid >> entry & 1) blocks.insert(record.entries[entry]);
    }
  }
  return blocks;
}

}  // namespace pmemsim
