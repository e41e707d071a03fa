#include "pmemsim/recovery/asap.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "pmemsim/recovery/undo_record.hpp"

namespace pmemsim {
namespace {

using Records = std::vector<std::pair<Line, LogHeader>>;

// The records of the regions that have to be undone: headers from the LH-WPQ, else from PM.
std::map<std::uint64_t, Records> find_records(const Asap::Survivors& survivors, const Image& pm) {
  std::unordered_map<std::uint64_t, LineData> buffered;
  for (const auto& header : survivors.headers) buffered[header.place.number] = header.header;
  std::map<std::uint64_t, Records> found;
  for (const auto& [rid, _] : survivors.dependences) found[rid];
  for (CoreId core = 0; core < survivors.logs.size(); ++core) {
    const auto& log = survivors.logs[core];
    for (std::uint64_t at = 0; at + kRecordLines <= log.lines; at += kRecordLines) {
      const Line place{log.first.number + at};
      const auto in_buffer = buffered.find(place.number);
      const LogHeader header =
          LogHeader::of(in_buffer != buffered.end() ? in_buffer->second : pm.read(place));
      const auto region = found.find(Asap::rid(core, header.region));
      if (header.core == core && region != found.end()) {
        region->second.emplace_back(place, header);
      }
    }
  }
  return found;
}

}  // namespace

void recover_asap(const Asap::Survivors& survivors, Image& pm) {
  std::map<std::uint64_t, Records> left = find_records(survivors, pm);
  while (!left.empty()) {
    // The list has no cycles, so there is a region that no other one left depends on.
    const auto last = std::find_if(left.begin(), left.end(), [&](const auto& candidate) {
      return std::none_of(left.begin(), left.end(), [&](const auto& other) {
        const auto& on = survivors.dependences.at(other.first);
        return std::find(on.begin(), on.end(), candidate.first) != on.end();
      });
    });
    for (const auto& [place, header] : last->second) undo_record(header, place, pm);
    left.erase(last);
  }
}

}  // namespace pmemsim
