#include "pmemsim/recovery/undo_log.hpp"

#include "pmemsim/recovery/apply_record.hpp"

namespace pmemsim {

// A region logs a line once, so the order of its records doesn't matter. What earlier regions have
// left in the log has numbers that are too low.
void recover_undo_log(const HwUndo::Survivors& survivors, Image& pm) {
  for (const LoggedRecord& record : read_log(survivors.log, pm)) {
    const LogHeader& header = record.header;
    if (header.core >= survivors.committed.size()) continue;
    if (header.region > survivors.committed[header.core]) apply_record(record, pm);
  }
}

}  // namespace pmemsim
