#include "pmemsim/atomicity/hw_undo.hpp"

#include <utility>

#include "pmemsim/sim/pm_space.hpp"

namespace pmemsim {
namespace {

constexpr unsigned kCoreShift = 56;
constexpr unsigned kRecordShift = 8;
constexpr std::uint64_t kRecordMask = (std::uint64_t{1} << (kCoreShift - kRecordShift)) - 1;

}  // namespace

// Where an entry stands, as a completion's argument.
std::uint64_t HwUndo::packed(CoreId core, std::size_t record, std::uint32_t entry) {
  return std::uint64_t{core} << kCoreShift | record << kRecordShift | entry;
}
HwUndo::Record& HwUndo::record_of(std::uint64_t packed) {
  return cores_[packed >> kCoreShift].records[packed >> kRecordShift & kRecordMask];
}

HwUndo::HwUndo(std::uint32_t cores, const HardwareLogParameters& parameters) {
  for (CoreId core = 0; core < cores; ++core) {
    cores_.emplace_back(SequentialLog(core, parameters.ring_size.count));
  }
}

void HwUndo::connect(const LayerContext& context) {
  context_.emplace(context);
  port_.connect(context);
}

Lowering HwUndo::lowering() const {
  Lowering lowering;
  lowering.keeps[static_cast<std::size_t>(trace::Purpose::kLog)] = false;
  lowering.keeps[static_cast<std::size_t>(trace::Purpose::kCommit)] = false;
  return lowering;
}

bool HwUndo::region_begin(CoreId core, std::uint64_t region, Picoseconds, Completion) {
  cores_[core].region = region;
  return true;
}

bool HwUndo::store(const Store& store, Picoseconds, Completion) {
  PerCore& core = cores_[store.core];
  if (store.region == 0 || core.logged.find(Line::of(store.address)) != nullptr) return true;
  log(core, store);  // rule 1
  return true;
}

void HwUndo::log(PerCore& core, const Store& store) {
  const Line line = Line::of(store.address);
  core.logged.insert(line) = true;
  if (core.records.empty() || core.records.back().entries == kRecordEntries) {
    core.records.push_back({core.log.allocate(), {store.core, store.region, 0, {}}});
  }
  Record& record = core.records.back();
  const std::uint32_t entry = record.entries++;
  record.header.homes[entry] = line;
  ++locked_[line.number].entries;
  ++core.outstanding;
  ++statistics_.entries;
  const std::uint64_t place = packed(store.core, core.records.size() - 1, entry);
  port_.send(store.core,
             {.line = {record.place.number + 1 + entry},
              .kind = WriteKind::kLog,
              .owner = store.region,
              .data = store.before,
              .persisted = completion<&HwUndo::entry_persisted>(*this, place),
              .written = {}},
             completion<&HwUndo::entry_acknowledged>(*this, place));
}

// At the controller: the header's buffer learns of the entry as the write pending queue takes it.
void HwUndo::entry_persisted(std::uint64_t place, Picoseconds) {
  Record& record = record_of(place);
  record.header.valid |= static_cast<std::uint8_t>(1u << (place & 0xff));
  if (record.header.valid != kAllEntriesValid) return;
  const CoreId core = record.header.core;
  ++cores_[core].outstanding;  // rule 5
  ++statistics_.headers;
  port_.send(core,
             {.line = record.place,
              .kind = WriteKind::kLogHeader,
              .owner = record.header.region,
              .data = record.header.bytes(),
              .persisted = completion<&HwUndo::header_persisted>(*this, place),
              .written = {}},
             completion<&HwUndo::acknowledged>(*this, core));
}

void HwUndo::header_persisted(std::uint64_t place, Picoseconds) {
  record_of(place).in_buffer = false;
}

void HwUndo::entry_acknowledged(std::uint64_t place, Picoseconds now) {
  const LogHeader& header = record_of(place).header;
  const CoreId core = header.core;
  unlock(core, header.homes[place & 0xff], now);
  acknowledged(core, now);
}

// Lets go what has waited for the line's log entry.
void HwUndo::unlock(CoreId core, Line line, Picoseconds now) {
  const auto found = locked_.find(line.number);
  if (--found->second.entries > 0) return;
  const Locked locked = std::move(found->second);
  locked_.erase(found);
  if (locked.evicted) {
    ++cores_[core].outstanding;
    port_.send(core,
               {.line = line,
                .kind = WriteKind::kData,
                .owner = 0,
                .data = context_->pm_space.newest().read(line),
                .persisted = {},
                .written = {}},
               completion<&HwUndo::acknowledged>(*this, core));
  }
  for (const Completion& flush : locked.flushes) flush(now);
}

void HwUndo::acknowledged(std::uint64_t number, Picoseconds now) {
  PerCore& core = cores_[number];
  if (--core.outstanding > 0 || !core.waiting) return;
  statistics_.commit_time += now - core.waiting_since;
  commit(core);
  std::exchange(core.waiting, {})(now);
}

bool HwUndo::flush(CoreId, Line line, Picoseconds, Completion resume) {
  const auto found = locked_.find(line.number);
  if (found == locked_.end()) return true;
  found->second.flushes.push_back(resume);  // rule 2
  ++statistics_.delayed_flushes;
  return false;
}

Eviction HwUndo::evicted(Line line, const LineData&, Picoseconds) {
  const auto found = locked_.find(line.number);
  if (found == locked_.end()) return Eviction::kWrite;
  found->second.evicted = true;  // rule 2
  ++statistics_.delayed_evictions;
  return Eviction::kTaken;
}

bool HwUndo::region_end(CoreId number, std::uint64_t, Picoseconds when, Completion resume) {
  PerCore& core = cores_[number];
  if (core.outstanding == 0) {
    commit(core);
    return true;
  }
  core.waiting_since = when;  // rule 4
  core.waiting = resume;
  return false;
}

void HwUndo::commit(PerCore& core) {
  core.committed = std::exchange(core.region, 0);
  for (const Record& record : core.records) {
    for (std::uint32_t i = 0; i < record.entries; ++i) {
      drop({record.place.number + 1 + i}, WriteKind::kLog);
    }
    drop(record.place, WriteKind::kLogHeader);
    core.log.free(record.place);
  }
  core.records.clear();
  core.logged.clear();
}

void HwUndo::drop(Line line, WriteKind kind) {
  WriteId id;
  if (context_->pm.find(line, kind, id) && context_->pm.drop(id)) ++statistics_.dropped;
}

std::vector<HwUndo::Survivor> HwUndo::survivors() const {
  std::vector<Survivor> all;
  for (const PerCore& core : cores_) {
    Survivor survivor{core.committed, core.log.first(), core.log.lines(), {}};
    for (const Record& record : core.records) {
      if (record.in_buffer) survivor.headers.push_back({record.place, record.header.bytes()});
    }
    all.push_back(std::move(survivor));
  }
  return all;
}

void HwUndo::statistics(StatisticsCollector& collector) const {
  HwUndoStatistics all = statistics_;
  for (const PerCore& core : cores_) all.growths += core.log.growths();
  collector.group("hw_undo", all);
}

std::string HwUndo::pending() const {
  std::string text;
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    if (cores_[core].outstanding == 0) continue;
    text += (text.empty() ? "" : "; ") + std::to_string(cores_[core].outstanding) +
            " log writes of core " + std::to_string(core) + " not acknowledged";
  }
  return text;
}

}  // namespace pmemsim
