#include "pmemsim/recovery/log_reader.hpp"

#include <unordered_map>
#include <unordered_set>

namespace pmemsim {
namespace {

using Buffered = std::unordered_map<std::uint64_t, const BufferedHeader*>;

void read_ring(const LogSurvivors::Ring& ring, const Buffered& buffered, const Image& pm,
               std::vector<LoggedRecord>& records) {
  for (std::uint64_t at = 0; at + kRecordLines <= ring.lines; at += kRecordLines) {
    const Line place{ring.first.number + at};
    const auto found = buffered.find(place.number);
    LoggedRecord record{
        LogHeader::of(found != buffered.end() ? found->second->header : pm.read(place)), {}};
    if (record.header.valid == 0) continue;
    for (std::uint32_t i = 0; i < kRecordEntries; ++i) {
      record.entries[i] = {place.number + 1 + i};
    }
    records.push_back(record);
  }
}

// A chain leads back in time, and beyond the log that is still needed: there, headers may have been
// used again, by other cores, or by newer regions of the core.
void read_chain(CoreId core, Line newest, const LogSurvivors& survivors, const Buffered& buffered,
                const Image& pm, std::vector<LoggedRecord>& records) {
  std::unordered_set<std::uint64_t> visited;
  std::uint64_t region = UINT64_MAX;
  for (std::optional<Line> place = newest; place && visited.insert(place->number).second;) {
    const auto found = buffered.find(place->number);
    const bool in_buffer = found != buffered.end();
    const LogHeader header = LogHeader::of(in_buffer ? found->second->header : pm.read(*place));
    const auto links = LogLinks::of(
        in_buffer ? found->second->links : pm.read({place->number + survivors.header_stride}),
        header);
    if (!links || header.core != core || header.region > region) return;
    LoggedRecord record{header, {}};
    for (std::uint32_t i = 0; i < kRecordEntries; ++i) {
      record.entries[i] = links->entries[i].value_or(Line{});
    }
    records.push_back(record);
    region = header.region;
    place = links->previous;
  }
}

}  // namespace

std::vector<LoggedRecord> read_log(const LogSurvivors& survivors, const Image& pm) {
  Buffered buffered;
  for (const BufferedHeader& header : survivors.headers) buffered[header.place.number] = &header;
  std::vector<LoggedRecord> records;
  for (const auto& ring : survivors.rings) read_ring(ring, buffered, pm, records);
  for (CoreId core = 0; core < survivors.newest.size(); ++core) {
    if (!survivors.newest[core]) continue;
    read_chain(core, *survivors.newest[core], survivors, buffered, pm, records);
  }
  return records;
}

}  // namespace pmemsim
