// Undoing one log record: what recovery from all undo logs does.
#pragma once

#include "pmemsim/atomicity/log_record.hpp"
#include "pmemsim/mem/image.hpp"

namespace pmemsim {

inline void undo_record(const LogHeader& header, Line place, Image& pm) {
  for (std::uint32_t entry = 0; entry < kRecordEntries; ++entry) {
    if ((header.valid >> entry & 1) == 0) continue;
    pm.write(header.homes[entry], pm.read({place.number + 1 + entry}));
  }
}

}  // namespace pmemsim
