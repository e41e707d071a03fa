#include "my_design.hpp"

#include <utility>

namespace my_design {

MyDesign::MyDesign(const HardwareLog::Shape& shape, const HardwareLogParameters& log,
                   const MyDesignParameters& parameters)
    : log_(shape, log), parameters_(parameters), cores_(shape.cores) {}

void MyDesign::connect(const LayerContext& context) {
  context_.emplace(context);
  log_.connect(context);
  log_.on_header_space(completion<&MyDesign::header_space_freed>(*this));
}

// The design's program is the recorded one without its software log. It flushes its data.
Lowering MyDesign::lowering() const {
  return Lowering::without({trace::Purpose::kLog, trace::Purpose::kCommit});
}

bool MyDesign::region_begin(CoreId number, std::uint64_t region, Time, Completion) {
  cores_[number].region = region;
  if (parameters_.faults.commit) {
    cores_[number].committed = region;
    context_->pm.survivors_changed();
  }
  return true;
}

bool MyDesign::store(const Store& store, Time, Completion resume) {  // rule 1
  PerCore& core = cores_[store.core];
  const Line line = store.line();
  if (store.region == 0 || core.logged.find(line) != nullptr) return true;
  ++statistics_.stalls;
  core.store = resume;
  if (!log(store.core, line, store.before())) core.unlogged = line;
  return false;
}

// False: the log has no room for a header.
bool MyDesign::log(CoreId number, Line line, const LineData& before) {
  PerCore& core = cores_[number];
  if (!core.log) {
    core.log = log_.open(number, core.region, completion<&MyDesign::idle>(*this, number));
  }
  if (!log_.has_header_space(*core.log)) return false;
  core.logged.insert(line) = true;
  log_.append(*core.log, line, before, completion<&MyDesign::logged>(*this, number));
  return true;
}

void MyDesign::header_space_freed(std::uint64_t, Time) {
  for (CoreId number = 0; number < cores_.size(); ++number) {
    PerCore& core = cores_[number];
    if (!core.unlogged) continue;
    if (log(number, *core.unlogged, context_->pm_space.newest().read(*core.unlogged))) {
      core.unlogged.reset();
    }
  }
}

void MyDesign::logged(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  std::exchange(core.store, {})(now);
}

bool MyDesign::region_end(CoreId number, std::uint64_t, Time, Completion resume) {
  PerCore& core = cores_[number];
  if (!core.log || log_.outstanding(*core.log) == 0) {
    commit(core);
    return true;
  }
  core.end = resume;
  return false;
}

// Nothing of the core's log is outstanding: its region may commit, if it has ended.
void MyDesign::idle(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  if (!core.end) return;
  commit(core);
  std::exchange(core.end, {})(now);
}

void MyDesign::commit(PerCore& core) {  // rule 3
  ++statistics_.committed;
  core.committed = std::exchange(core.region, 0);
  context_->pm.survivors_changed();
  core.logged.clear();
  if (core.log) log_.release(*std::exchange(core.log, {}), true);
}

MyDesign::Survivors MyDesign::survivors() const {
  Survivors all{{}, log_.survivors()};
  for (const PerCore& core : cores_) all.committed.push_back(core.committed);
  return all;
}

void MyDesign::statistics(StatisticsCollector& collector) const {
  collector.group("my_design", statistics_);
  log_.statistics(collector);
}

std::string MyDesign::pending() const {
  for (const PerCore& core : cores_) {
    if (core.store || core.end) return "my-design: a core waits for its log";
  }
  return "";
}

// Rule 4. A region logs a line once, so that the order of its records doesn't matter.
void recover_my_design(const MyDesign::Survivors& survivors, RecoveryView pm) {
  std::vector<RegionRange> uncommitted;
  for (const std::uint64_t region : survivors.committed) {
    uncommitted.push_back({.first = region + 1});
  }
  for (const LoggedRecord& record : read_log(survivors.log, uncommitted, pm)) {
    apply_record(record, pm);
  }
}

Storage my_design_storage(const Blueprint& blueprint) {
  Storage storage{{committed_register(blueprint.chip())}};
  storage.add(
      HardwareLog::storage(blueprint.parameters<HardwareLogParameters>(), blueprint.chip()));
  return storage;
}

Choice my_design_row() {
  return {.name = "my-design",
          .summary = "Hardware undo log; stores wait for their log entries",
          .needs = {kWritingFlushes},
          .gives = {kAtomicRegions},
          .promises = {.whole_regions = true, .regions = RegionPromise::kAtEnd},
          .parameters = {log_group(), ParameterGroup::of<MyDesignParameters>("my_design")},
          .problems = undo_log_problems,
          .storage = my_design_storage,
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
            return std::make_unique<MyDesign>(log_shape(blueprint, LogKind::kUndo),
                                              blueprint.parameters<HardwareLogParameters>(),
                                              blueprint.parameters<MyDesignParameters>());
          },
          .recovery =
              [](const Atomicity& design, const trace::TraceFile&) {
                return hardware_recovery<MyDesign>(design, recover_my_design);
              }};
}

}  // namespace my_design

PMEMSIM_PLUGIN(my_design::my_design_row())
