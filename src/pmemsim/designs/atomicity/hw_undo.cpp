#include "pmemsim/designs/atomicity/hw_undo.hpp"

#include <utility>

#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"

namespace pmemsim {
namespace {

// A core and a line number in one completion argument: a line number has fewer than 56 bits.
constexpr unsigned kCoreShift = 56;
constexpr std::uint64_t kLineMask = (std::uint64_t{1} << kCoreShift) - 1;

}  // namespace

HwUndo::HwUndo(const HardwareLog::Shape& shape, const HardwareLogParameters& parameters)
    : log_(shape, parameters), faults_(parameters.faults), cores_(shape.cores) {}

void HwUndo::connect(const LayerContext& context) {
  context_.emplace(context);
  port_.connect(context);
  log_.connect(context);
  log_.on_header_space(completion<&HwUndo::header_space_freed>(*this));
}

Lowering HwUndo::lowering() const {
  using enum trace::Purpose;
  if (faults_.commit) return Lowering::without({kLog, kCommit, kDataFlush});
  return Lowering::without({kLog, kCommit});
}

bool HwUndo::region_begin(CoreId core, std::uint64_t region, Time, Completion) {
  cores_[core].region = region;
  return true;
}

bool HwUndo::store(const Store& store, Time, Completion resume) {
  PerCore& core = cores_[store.core];
  const Line line = store.line();
  if (store.region == 0 || core.logged.find(line) != nullptr) return true;
  if (log(store.core, line, store.before())) return true;  // rule 1 (hw_undo.hpp)
  ++statistics_.header_stalls;
  core.blocked = resume;
  core.line = line;
  return false;
}

// Returns false if there is no room for a header (rule 5).
bool HwUndo::log(CoreId number, Line line, const LineData& before) {
  PerCore& core = cores_[number];
  if (!core.log) {
    core.log = log_.open(number, core.region, completion<&HwUndo::commit_if_ready>(*this, number));
  }
  if (!log_.has_header_space(*core.log)) return false;
  core.logged.insert(line) = true;
  ++locked_[line].entries;
  const std::uint64_t core_and_line = std::uint64_t{number} << kCoreShift | line.number;
  log_.append(*core.log, line, before,
              completion<&HwUndo::entry_acknowledged>(*this, core_and_line));
  return true;
}

void HwUndo::header_space_freed(std::uint64_t, Time now) {
  for (CoreId number = 0; number < cores_.size(); ++number) {
    PerCore& core = cores_[number];
    if (!core.blocked) continue;
    // Logs the line's current contents: another core may have stored to it meanwhile.
    if (!log(number, core.line, context_->pm_space.newest().read(core.line))) continue;
    std::exchange(core.blocked, {})(now);
  }
}

// Resumes the operations that the line's log entry has delayed.
void HwUndo::entry_acknowledged(std::uint64_t core_and_line, Time now) {
  const Line line{core_and_line & kLineMask};
  const auto core = static_cast<CoreId>(core_and_line >> kCoreShift);
  Locked& found = *locked_.find(line);
  if (--found.entries > 0) return;
  const Locked locked = std::move(found);
  locked_.erase(line);
  if (locked.evicted) {
    ++cores_[core].evictions;
    ++statistics_.late_evictions;
    port_.send(core,
               {.line = line,
                .kind = WriteKind::kData,
                .owner = 0,
                .data = context_->pm_space.newest().read(line),
                .persisted = {},
                .written = {}},
               completion<&HwUndo::eviction_acknowledged>(*this, core));
  }
  for (const Completion& flush : locked.flushes) flush(now);
}

void HwUndo::eviction_acknowledged(std::uint64_t core, Time now) {
  --cores_[core].evictions;
  commit_if_ready(core, now);
}

bool HwUndo::has_no_pending_writes(const PerCore& core) const {
  return core.evictions == 0 && (!core.log || log_.outstanding(*core.log) == 0);
}

// Handles an acknowledgement: commits the region if its end stalls for that.
void HwUndo::commit_if_ready(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  if (core.waiting && has_no_pending_writes(core) && publish(number)) commit_late(core, now);
}

bool HwUndo::publish(std::uint64_t number) {
  const bool published =
      context_->pm.parts().publish(completion<&HwUndo::published>(*this, number));
  cores_[number].publishing = !published;
  return published;
}

void HwUndo::published(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  core.publishing = false;
  commit_late(core, now);
}

void HwUndo::commit_late(PerCore& core, Time now) {
  statistics_.commit_latency += now - core.waiting_since;
  commit(core);
  std::exchange(core.waiting, {})(now);
}

bool HwUndo::flush(CoreId, Line line, Time, Completion resume) {
  Locked* const locked = locked_.find(line);
  if (locked == nullptr || faults_.order) return true;
  locked->flushes.push_back(resume);  // rule 2 (hw_undo.hpp)
  ++statistics_.delayed_flushes;
  return false;
}

Eviction HwUndo::evicted(Line line, const LineData&, Time) {
  Locked* const locked = locked_.find(line);
  if (locked == nullptr || faults_.order) return Eviction::kWrite;
  locked->evicted = true;  // rule 2 (hw_undo.hpp)
  ++statistics_.delayed_evictions;
  return Eviction::kTaken;
}

bool HwUndo::region_end(CoreId number, std::uint64_t, Time when, Completion resume) {
  PerCore& core = cores_[number];
  if (has_no_pending_writes(core) && publish(number)) {
    commit(core);
    return true;
  }
  core.waiting_since = when;  // rule 4 (hw_undo.hpp)
  core.waiting = resume;
  return false;
}

void HwUndo::commit(PerCore& core) {
  ++statistics_.committed;
  core.committed = std::exchange(core.region, 0);
  context_->pm.survivors_changed();
  core.logged.clear();
  if (core.log) log_.release(*std::exchange(core.log, {}), true);
}

HwUndo::Survivors HwUndo::survivors() const {
  Survivors all{{}, log_.survivors()};
  for (const PerCore& core : cores_) all.committed.push_back(core.committed);
  return all;
}

void HwUndo::statistics(StatisticsCollector& collector) const {
  collector.group("hw_undo", statistics_);
  log_.statistics(collector);
}

std::string HwUndo::pending() const {
  return sentences(cores_.size(), [this](std::size_t core) {
    if (cores_[core].publishing) {
      return "core " + std::to_string(core) + " commits when its lines could be read";
    }
    return has_no_pending_writes(cores_[core])
               ? std::string()
               : "log writes of core " + std::to_string(core) + " not acknowledged";
  });
}

Storage HwUndo::storage(const HardwareLogParameters& parameters, const Chip& chip) {
  Storage storage{{committed_register(chip)}};
  storage.add(HardwareLog::storage(parameters, chip));
  return storage;
}

}  // namespace pmemsim
