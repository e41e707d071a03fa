#include "pmemsim/designs/atomicity/log_reader.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "pmemsim/designs/atomicity/log_index.hpp"

namespace pmemsim {
namespace {

class LogReader {
 public:
  LogReader(const LogSurvivors& survivors, const std::vector<RegionRange>& wanted,
            const RecoveryView& pm)
      : survivors_(survivors), wanted_(wanted), pm_(pm) {
    buffered_.reserve(survivors.headers.size());
    for (const BufferedHeader& header : survivors.headers) buffered_.push_back(&header);
    std::ranges::sort(buffered_, [](const BufferedHeader* one, const BufferedHeader* other) {
      return std::pair(one->place, one) < std::pair(other->place, other);
    });
  }

  std::vector<LoggedRecord> read() {
    if (!survivors_.rings.empty()) read_rings();
    const std::size_t cores = std::min(survivors_.newest.size(), wanted_.size());
    for (CoreId core = 0; core < cores; ++core) {
      if (survivors_.newest[core]) read_chain(core, *survivors_.newest[core]);
    }
    return std::move(records_);
  }

 private:
  using Ring = LogSurvivors::Ring;

  static Line place_of(const BufferedHeader* header) { return header->place; }
  const BufferedHeader* find_buffered(Line place) const {
    const auto found = std::ranges::lower_bound(buffered_, place, {}, place_of);
    return found == buffered_.end() || (*found)->place != place ? nullptr : *found;
  }
  bool is_wanted(const LogHeader& header) const {
    return header.core < wanted_.size() && header.region >= wanted_[header.core].first &&
           header.region <= wanted_[header.core].last;
  }

  void read_rings() {
    if (pm_.index() == nullptr) {
      for (const Ring& ring : survivors_.rings) {
        for (std::uint64_t at = 0; at + kRecordLines <= ring.lines; at += kRecordLines) {
          const Line place{ring.first.number + at};
          if (find_buffered(place) == nullptr) add(place, LogHeader::of(pm_.read(place)));
        }
      }
    } else {
      for (CoreId core = 0; core < wanted_.size(); ++core) {
        pm_.index()->find(core, wanted_[core].first, wanted_[core].last, [&](Line place) {
          if (in_rings(place) && find_buffered(place) == nullptr) {
            add(place, LogHeader::of(pm_.read(place)));
          }
        });
      }
    }
    for (const BufferedHeader& header : survivors_.headers) {
      if (in_rings(header.place)) add(header.place, LogHeader::of(header.header));
    }
  }
  bool in_rings(Line place) const {
    return std::any_of(survivors_.rings.begin(), survivors_.rings.end(), [&](const Ring& ring) {
      const std::uint64_t at = place.number - ring.first.number;
      return at + kRecordLines <= ring.lines && at % kRecordLines == 0;
    });
  }
  void add(Line place, const LogHeader& header) {
    if (header.valid == 0 || !is_wanted(header)) return;
    LoggedRecord record{header, place, {}};
    for (std::uint32_t i = 0; i < kRecordEntries; ++i) {
      record.entries[i] = {place.number + 1 + i};
    }
    records_.push_back(record);
  }

  // Follows a chain back in time. The chain continues beyond the records that are still needed.
  // Headers there may have been reused by other cores, or by newer regions of the core.
  void read_chain(CoreId core, Line newest) {
    std::unordered_set<std::uint64_t> visited;
    std::uint64_t region = UINT64_MAX;
    for (std::optional<Line> place = newest; place && visited.insert(place->number).second;) {
      const BufferedHeader* const buffered = find_buffered(*place);
      const LogHeader header =
          LogHeader::of(buffered != nullptr ? buffered->header : pm_.read(*place));
      const auto links =
          LogLinks::of(buffered != nullptr ? buffered->links
                                           : pm_.read({place->number + survivors_.header_stride}),
                       header);
      if (!links || header.core != core || header.region > region ||
          header.region < wanted_[core].first) {
        return;
      }
      region = header.region;
      LoggedRecord record{header, *place, {}};
      place = links->previous;
      if (!is_wanted(header)) continue;
      for (std::uint32_t i = 0; i < kRecordEntries; ++i) {
        record.entries[i] = links->entries[i].value_or(Line{});
      }
      records_.push_back(record);
    }
  }

  const LogSurvivors& survivors_;
  const std::vector<RegionRange>& wanted_;
  const RecoveryView& pm_;
  std::vector<const BufferedHeader*> buffered_;  // by location
  std::vector<LoggedRecord> records_;
};

}  // namespace

std::vector<LoggedRecord> read_log(const LogSurvivors& survivors,
                                   const std::vector<RegionRange>& wanted, const RecoveryView& pm) {
  return LogReader(survivors, wanted, pm).read();
}

}  // namespace pmemsim
