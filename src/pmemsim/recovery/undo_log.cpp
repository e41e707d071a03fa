#include "pmemsim/recovery/undo_log.hpp"

#include <unordered_map>

#include "pmemsim/recovery/undo_record.hpp"

namespace pmemsim {
void recover_undo_log(std::span<const HwUndo::Survivor> survivors, Image& pm) {
  for (CoreId core = 0; core < survivors.size(); ++core) {
    const HwUndo::Survivor& survivor = survivors[core];
    std::unordered_map<std::uint64_t, LineData> buffered;
    for (const auto& header : survivor.headers) buffered[header.place.number] = header.header;
    // A region logs a line once, so the order of its records doesn't matter. What earlier regions
    // have left in the ring has numbers that are too low.
    for (std::uint64_t at = 0; at + kRecordLines <= survivor.log_lines; at += kRecordLines) {
      const Line place{survivor.log.number + at};
      const auto found = buffered.find(place.number);
      const LogHeader header =
          LogHeader::of(found != buffered.end() ? found->second : pm.read(place));
      if (header.core == core && header.region > survivor.committed) undo_record(header, place, pm);
    }
  }
}

}  // namespace pmemsim
