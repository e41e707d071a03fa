#include "pmemsim/designs/atomicity/hw_redo_recovery.hpp"

#include <algorithm>

namespace pmemsim {

void RedoRecovery::changed(Line line, const LineData& data) {
  index_.changed(line, data);
  if (line.address() < kLogBase || record_changed_) return;
  const Line place = header_of(line);
  if (!headers_.contains(place)) {
    record_changed_ = is_redone(index_.region_at(place));
  } else if (line == place) {
    unsettled_.push_back(place);
  } else {
    record_changed_ = true;
  }
}

bool RedoRecovery::is_redone(const std::optional<RegionKey>& region) const {
  if (!region || region->first >= cores_.size()) return false;
  const PerCore& core = cores_[region->first];
  return region->second > core.in_place && region->second <= core.committed;
}

std::optional<std::vector<Line>> RedoRecovery::prepare_next_run(RecoveryView pm) {
  const HwRedo::Survivors now = design_.survivors();
  if (record_changed_ || !extends_last_run(now) || !headers_hold(now.log.headers, pm)) {
    return {};
  }
  HwRedo::Survivors added = now;
  for (CoreId core = 0; core < cores_.size(); ++core) {
    added.in_place[core] = std::max(now.in_place[core], cores_[core].committed);
  }
  pm.use(index_);
  std::vector<LoggedRegion> regions = regions_to_redo(added, pm);
  if (!regions.empty() && regions.front().commit_order <= last_order_) return {};
  next_ = std::move(regions);
  return release(now);
}

bool RedoRecovery::extends_last_run(const HwRedo::Survivors& now) const {
  if (now.log.rings != rings_) return false;
  for (CoreId core = 0; core < cores_.size(); ++core) {
    if (now.committed[core] < cores_[core].committed) return false;
    if (now.in_place[core] < cores_[core].in_place) return false;
  }
  return true;
}

// True if the headers of redone regions are unchanged. A buffer's header takes precedence over the
// one in PM, and may meanwhile be written there unchanged.
bool RedoRecovery::headers_hold(const std::vector<BufferedHeader>& buffers,
                                const RecoveryView& pm) {
  for (const BufferedHeader& buffered : buffers) {
    const LogHeader header = LogHeader::of(buffered.header);
    if (!is_redone(RegionKey{header.core, header.region})) continue;
    const LogHeader* const redone = headers_.find(buffered.place);
    if (redone == nullptr || *redone != header) return false;
  }
  std::erase_if(unsettled_, [&](Line place) {
    const LogHeader* const redone = headers_.find(place);
    return redone == nullptr || LogHeader::of(pm.read(place)) == *redone;
  });
  return std::all_of(unsettled_.begin(), unsettled_.end(), [&](Line place) {
    return std::any_of(buffers.begin(), buffers.end(),
                       [&](const BufferedHeader& buffered) { return buffered.place == place; });
  });
}

// Forgets the released regions, and returns the lines that no remaining region has written.
std::vector<Line> RedoRecovery::release(const HwRedo::Survivors& now) {
  std::vector<Line> lines;
  for (CoreId core = 0; core < cores_.size(); ++core) {
    std::deque<Redone>& redone = cores_[core].redone;
    for (; !redone.empty() && redone.front().number <= now.in_place[core]; redone.pop_front()) {
      const RegionKey writer{core, redone.front().number};
      for (const Line line : redone.front().lines) {
        const RegionKey* const last = last_writer_.find(line);
        if (last == nullptr || *last != writer) continue;
        last_writer_.erase(line);
        lines.push_back(line);
      }
      for (const Line header : redone.front().headers) headers_.erase(header);
    }
  }
  return lines;
}

void RedoRecovery::run(RecoveryView pm) {
  const HwRedo::Survivors survivors = design_.survivors();
  pm.use(index_);
  if (!next_) {
    restart();
    next_ = regions_to_redo(survivors, pm);
  }
  cores_.resize(survivors.committed.size());
  for (CoreId core = 0; core < cores_.size(); ++core) {
    cores_[core].in_place = survivors.in_place[core];
    cores_[core].committed = survivors.committed[core];
  }
  rings_ = survivors.log.rings;
  // Chains of headers can also change other than line by line. A region without its last header,
  // which only an injected fault leaves, has no position in the order of commits.
  const bool in_order = std::all_of(next_->begin(), next_->end(), [](const LoggedRegion& region) {
    return region.commit_order > 0;
  });
  may_keep_image_ = survivors.order == CommitOrder::kGlobal && !rings_.empty() && in_order;
  redo_all(*next_, pm);
  next_.reset();
}

void RedoRecovery::redo_all(const std::vector<LoggedRegion>& regions, RecoveryView& pm) {
  for (const LoggedRegion& region : regions) {
    redo(region, pm);
    last_order_ = region.commit_order;
    if (!may_keep_image_) continue;
    Redone& redone = cores_[region.core].redone.emplace_back();
    redone.number = region.number;
    for (const LoggedRecord& record : region.records) remember(record, redone);
  }
}

void RedoRecovery::remember(const LoggedRecord& record, Redone& redone) {
  const RegionKey region{record.header.core, record.header.region};
  const Line place = header_of(record.entries.front());
  headers_[place] = record.header;
  redone.headers.push_back(place);
  unsettled_.push_back(place);
  for (std::uint32_t entry = 0; entry < kRecordEntries; ++entry) {
    if ((record.header.valid >> entry & 1) == 0) continue;
    const Line home = record.header.homes[entry];
    last_writer_[home] = region;
    redone.lines.push_back(home);
  }
}

void RedoRecovery::restart() {
  cores_.clear();
  last_writer_ = {};
  headers_ = {};
  unsettled_.clear();
  last_order_ = 0;
  record_changed_ = false;
}

}  // namespace pmemsim
