#include "pmemsim/crash/crash.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "pmemsim/common/units.hpp"
#include "pmemsim/crash/advancing_history.hpp"
#include "pmemsim/crash/contents_check.hpp"
#include "pmemsim/crash/crash_image.hpp"
#include "pmemsim/crash/explanation.hpp"
#include "pmemsim/crash/oracle.hpp"
#include "pmemsim/crash/point_selection.hpp"
#include "pmemsim/crash/run_parts.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/machine/run/host_memory.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/machine/run/simulate.hpp"

namespace pmemsim {
namespace {

// Runs the machine with these observers only.
void run(Machine& machine, PersistenceObserver& persistence, ProgramObserver* program,
         const std::function<bool(double)>& progress) {
  machine.observe(&persistence);
  if (program != nullptr) machine.observe(program);
  if (!machine.run(progress)) throw Interrupted("the crash run was interrupted");
}

// Share of the work that counting the points beforehand takes, if that is needed.
constexpr double kCounting = 0.3;

// Returns a callback that maps its progress to a part of the whole progress.
std::function<bool(double)> share_of(const std::function<bool(double)>& progress, double from,
                                     double length) {
  if (!progress) return {};
  return [=](double share) { return progress(from + share * length); };
}

// Counts the crash points up to a time.
class PointCounter final : public PersistenceObserver {
 public:
  explicit PointCounter(Time until, bool persistent_caches)
      : until_(until), persistent_caches_(persistent_caches) {}
  void persisted(const Write&, PersistencePoint, Time when) override {
    if (!persistent_caches_) count(when);
  }
  void persisted_with_next(const Write&) override {}
  void dropped(const Write&, Time when) override {
    if (!persistent_caches_) count(when);
  }
  void survivors_changed(Time when) override { count(when); }
  void persisted_in_caches(Line, const LineData&, Time when) override { count(when); }
  std::uint64_t points() const { return points_; }
  // Returns the number of points that have the latest time.
  std::uint64_t latest() const { return latest_; }

 private:
  void count(Time when) {
    if (when > until_) return;
    ++points_;
    latest_ = when == last_ ? latest_ + 1 : 1;
    last_ = when;
  }
  const Time until_;
  const bool persistent_caches_;
  std::uint64_t points_ = 0, latest_ = 0;
  Time last_{};
};

// The points to visit, and those whose images the external checker gets.
struct Plan {
  Selection visited, inspected;
  std::uint64_t all_points = 0;  // Number of points of the run up to CrashOptions::at; 0: unknown
};

// Plans the points of a run. Simulates it to count them if the plan depends on their number.
Plan plan_of(const trace::TraceFile& trace, const Configuration& configuration,
             const CrashOptions& options, const std::function<bool(double)>& progress) {
  const bool checked = options.external_checker != nullptr;
  const bool inspects_all = checked && options.inspections == CrashOptions::kAllImages;
  const std::uint64_t inspections = !checked || inspects_all ? 0 : options.inspections;
  std::uint64_t all_points = 0, latest = 0;
  if (options.sample > 0 || options.at || inspections > 0) {
    Machine counted(configuration, trace);
    PointCounter counter(options.at.value_or(kNever), counted.design().promises().caches_persist);
    run(counted, counter, nullptr, progress);
    all_points = counter.points();
    latest = counter.latest();
  }
  Selection visited = Selection::all();
  std::vector<std::uint64_t> inspected = spread(inspections, all_points);
  if (options.at) {
    inspected.resize(latest);
    std::iota(inspected.begin(), inspected.end(), all_points - latest + 1);
    visited = Selection(all_points == 0 ? std::vector<std::uint64_t>{0} : inspected);
  } else if (options.sample > 0) {
    visited = Selection(sample(options.sample, all_points, options.seed));
  }
  if (!checked) return {visited, Selection(std::vector<std::uint64_t>()), all_points};
  return {visited, inspects_all ? visited : Selection(std::move(inspected)), all_points};
}

// A machine whose persistent memory is formatted, and what a crash of it needs.
struct CrashedMachine {
  CrashedMachine(const trace::TraceFile& trace, const Configuration& configuration,
                 Versions versions)
      : machine(configuration, trace),
        history(trace, machine.design().lowering(),
                {.promises = machine.design().promises(),
                 .lines_whole = configuration.pm.persistence == PersistencePoint::kAccepted,
                 .lines_readable = !machine.design().may_leave_unreadable()},
                versions),
        recovery(machine.design().recovery(trace)) {
    machine.format();
    // Persistent caches hold data unencoded, as programs have written them.
    if (!machine.design().promises().caches_persist)
      decoder = machine.design().backend().parts().decoder();
  }

  Machine machine;
  AdvancingHistory history;
  std::unique_ptr<Recovery> recovery;
  std::unique_ptr<ImageDecoder> decoder;  // nullptr: nothing has to be decoded
};

// The external checker of all parts of a run, if any. Numbers the images in the order in which it
// gets them.
class SharedChecker {
 public:
  explicit SharedChecker(ExternalChecker* checker) : checker_(checker) {}

  // True if the checker gets an image that the oracle has found wrong or right.
  bool wants(bool wrong) const {
    return checker_ != nullptr && (!wrong || checker_->wants_wrong_images());
  }
  bool gets_all(const CrashOptions& options) const {
    return checker_ != nullptr && options.inspections == CrashOptions::kAllImages;
  }
  std::uint64_t show(const Image& image) {
    const std::lock_guard lock(one_at_a_time_);
    checker_->show(image);
    return shown_++;
  }
  bool rejects(std::uint64_t number) {
    const std::lock_guard lock(one_at_a_time_);
    return checker_->wrong().contains(number);
  }

 private:
  ExternalChecker* const checker_;
  std::mutex one_at_a_time_;
  std::uint64_t shown_ = 0;
};

using ChangedLine = std::pair<Line, LineData>;

// Returns two images of a torn line. A device writes 8-byte words atomically, and a line's words in
// any order. In one image, some of the changed words, chosen at random, are written; in the other,
// the rest.
std::vector<ChangedLine> tear(Line line, const LineData& before, const LineData& after,
                              std::mt19937_64& random) {
  std::vector<std::size_t> changed;
  for (std::size_t at = 0; at < kLineBytes; at += kWordBytes) {
    if (std::memcmp(before.data() + at, after.data() + at, kWordBytes) != 0) changed.push_back(at);
  }
  if (changed.size() < 2) return {};
  const std::uint64_t choices = (std::uint64_t{1} << changed.size()) - 2;  // Not none, not all
  const std::uint64_t choice = 1 + random() % choices;
  ChangedLine some{line, before}, others{line, before};
  for (std::size_t i = 0; i < changed.size(); ++i) {
    ChangedLine& torn = (choice >> i & 1) != 0 ? some : others;
    std::copy_n(after.data() + changed[i], kWordBytes, torn.second.data() + changed[i]);
  }
  return {some, others};
}

// A set of lines with constant-time access by index, for random choice.
class LineSet {
 public:
  void add(Line line) {
    if (indices_.try_emplace(line.number, lines_.size()).second) lines_.push_back(line);
  }
  void remove(Line line) {
    const auto found = indices_.find(line.number);
    if (found == indices_.end()) return;
    lines_[found->second] = lines_.back();
    indices_[lines_.back().number] = found->second;
    lines_.pop_back();
    indices_.erase(line.number);
  }
  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return lines_.size(); }
  Line at(std::size_t index) const { return lines_[index]; }

 private:
  std::vector<Line> lines_;
  std::unordered_map<std::uint64_t, std::size_t> indices_;
};

// The results of a run, or of a part of it.
struct Found {
  CrashResult result;
  std::optional<Violation> first;
  std::vector<std::uint64_t> wrong;  // Points with a violation
  // Images shown to the external checker, by number: the violation to report if it is wrong.
  std::map<std::uint64_t, Violation> shown;

  // Adds the results of another part. If both have a violation at the same point, the part that has
  // visited the point knows the first one.
  void add(Found other, const Part& part) {
    result.points += other.result.points;
    result.all_points = other.result.all_points;
    result.images += other.result.images;
    result.repaired += other.result.repaired;
    result.restarts += other.result.restarts;
    result.different += other.result.different;
    wrong.insert(wrong.end(), other.wrong.begin(), other.wrong.end());
    shown.merge(other.shown);
    if (!other.first) return;
    const std::uint64_t point = other.first->point;
    if (!first || point < first->point || (point == first->point && part.takes(point))) {
      first = std::move(other.first);
    }
  }
  // Adds the external checker's verdicts. They count for the points of their images.
  void add(const std::map<std::uint64_t, std::string>& rejected) {
    for (const auto& [number, problem] : rejected) {
      Violation& violation = shown[number];
      wrong.push_back(violation.point);
      violation.problem = problem;
      if (!first || violation.point <= first->point) first = violation;
    }
  }
  void count() {
    std::ranges::sort(wrong);
    result.violations = wrong.size() - std::ranges::size(std::ranges::unique(wrong));
    result.inspected = shown.size();
  }
};

class CrashRun final : public PersistenceObserver, public ProgramObserver {
 public:
  CrashRun(CrashedMachine& crashed, const CrashOptions& options, const Plan& plan, Part part,
           SharedChecker& checker)
      : machine_(crashed.machine),
        pm_(machine_.pm()),
        newest_(machine_.pm_space().newest()),
        design_(machine_.design()),
        backend_(design_.backend().parts()),
        persistent_caches_(design_.promises().caches_persist),
        history_(crashed.history),
        oracle_(history_),
        image_(pm_, newest_, *crashed.recovery, crashed.decoder.get()),
        contents_(pm_, image_),
        options_(options),
        visited_(plan.visited),
        inspected_(plan.inspected),
        part_(part),
        checker_(checker),
        last_point_(plan.all_points),
        visiting_(visited_.take(0) && part_.takes(0)) {}

  void persisted(const Write& write, PersistencePoint reached, Time when) override {
    if (persistent_caches_) return;
    const LineData before = image_.on_device(write.line);
    const LineData after = update(write);
    if (reached == PersistencePoint::kWritten) {
      std::mt19937_64 random = random_here();
      torn_ = tear(write.line, before, after, random);
    }
    point(when);
    torn_.clear();
  }
  void persisted_with_next(const Write& write) override {
    if (!persistent_caches_) update(write);
  }
  void dropped(const Write& write, Time when) override {
    if (persistent_caches_) return;
    follow(write.line, pm_.surviving(write.line));
    point(when);
  }
  void written(Line line) override {
    if (!persistent_caches_) contents_.touched(line);
  }
  void survivors_changed(Time when) override {
    image_.registers_changed();
    point(when);
  }
  void stored(Line line, std::uint32_t) override {
    if (options_.subsets > 0 && !persistent_caches_) dirty_.add(line);
  }
  void persisted_in_caches(Line line, const LineData& data, Time when) override {
    image_.update_line(line, data);
    point(when);
  }

  void region_durable(CoreId core, std::uint64_t region) override {
    read_history();
    guarantee(history_.region(core, region));
    history_.drop_regions(core, region);
    std::erase_if(stale_loads_, [&](const StaleLoad& load) {
      const bool committed = load.core == core && load.region == region;
      if (committed) report(read_stale(load, "is committed"), machine_.now());
      return committed;
    });
  }
  void fence_fulfilled(CoreId core, std::uint64_t fence) override {
    read_history();
    guarantee(history_.fence(core, fence));
    history_.drop_fences(core, fence);
  }

  // Implements rule 5 (crash.hpp).
  void stale_load(CoreId core, std::uint64_t region, Line line) override {
    read_history();
    const bool whole = region != 0 && history_.region(core, region) != ProgramHistory::kNone;
    stale_loads_.push_back({core, whole ? region : 0, line});
  }
  void stale_line_reported(Line line) override {
    std::erase_if(stale_loads_,
                  [line](const StaleLoad& load) { return load.region == 0 && load.line == line; });
  }
  void rolled_back(CoreId core) override {
    std::erase_if(stale_loads_,
                  [core](const StaleLoad& load) { return load.region != 0 && load.core == core; });
  }

  // Checks the whole contents when the run is over and the last queue is empty.
  void check_all_contents() {
    for (const StaleLoad& load : stale_loads_) {
      report(read_stale(load, "was not notified"), machine_.now());
    }
    report(differs(persistent_caches_ ? contents_.difference_from(newest_)
                                      : contents_.difference_anywhere()),
           machine_.now());
  }

  Found found;

 private:
  static constexpr std::uint64_t kMostInSubset = 8;

  // A stale load that was neither rolled back nor reported.
  struct StaleLoad {
    CoreId core;
    std::uint64_t region;  // 0: outside regions
    Line line;
  };

  // Reads the history as far as the machine has read the recording.
  void read_history() {
    for (CoreId core = 0; core < machine_.cores_used(); ++core) {
      history_.read_to(core, machine_.cores()[core]->operations_read());
    }
  }

  // Updates a line of the device, and the backend's registers, which may change with it.
  void follow(Line device_line, const LineData& data) {
    contents_.touched(device_line);
    image_.registers_changed();
    image_.update_on_device(device_line, data);
  }
  // Updates the image for a write and removes its line from the dirty ones if its newest data have
  // survived. Returns the device's contents.
  LineData update(const Write& write) {
    LineData data = image_.on_device(write.line);
    take_bytes(data, write.data, write.bytes);
    const std::size_t before = image_.changed().size();
    follow(write.line, data);
    if (options_.subsets == 0) return data;
    for (std::size_t i = before; i < image_.changed().size(); ++i) {
      const Line line = image_.changed()[i];
      const LineData newest = newest_.read(line);
      const LineData survived = image_.survived(line);
      if (survived == newest || survived == backend_.evicted(line, newest)) dirty_.remove(line);
    }
    return data;
  }

  void point(Time when) {
    const std::uint64_t number = ++found.result.all_points;
    const bool inspect = inspected_.take(number);
    const bool visited = visited_.take(number) || inspect;
    visiting_ = visited && part_.takes(number);
    if (!visiting_) return pass(visited);
    ++found.result.points;
    read_history();
    if (slice_ != Part::slice_of(number)) begin_slice(Part::slice_of(number));
    if (options_.save && number == last_point_) save();
    report(differs(contents_.difference()), when);
    report(visit(inspect), when);
  }
  // Passes a point, which another part may visit.
  void pass(bool visited) {
    if (visited) contents_.forget();
    image_.forget_repetitions();
  }
  void begin_slice(std::uint64_t slice) {
    slice_ = slice;
    oracle_.restart();
    image_.forget_stopped_recovery();
  }
  static std::optional<Violation> differs(std::optional<Line> line) {
    if (!line) return {};
    return Violation{
        .problem = fmt::format("line {:#x} of the simulated memory differs from the data that the "
                               "design considers persistent",
                               line->address())};
  }

  // Checks the image again after a new guarantee: an image that was correct until now may be wrong.
  void guarantee(ProgramHistory::UnitId unit) {
    if (unit == ProgramHistory::kNone || !oracle_.guarantee(unit)) return;
    if (!visiting_ || (options_.at && machine_.now() > *options_.at)) return;
    ++found.result.images;
    std::optional<Violation> violation = recover_and_check();
    if (violation) keep_wrong();
    image_.undo_recovery();
    if (violation) violation->guaranteed_since = true;
    report(std::move(violation), machine_.now());
  }

  static Violation read_stale(const StaleLoad& load, std::string_view what) {
    const std::string who = load.region == 0
                                ? fmt::format("thread {}, outside regions,", load.core)
                                : fmt::format("region {} of thread {}", load.region, load.core);
    return {.problem = fmt::format(
                "{} read line {:#x} from PM before a store to it had arrived there, and {}", who,
                load.line.address(), what)};
  }
  // Returns the violation of a region that is in the image just checked although it has read stale
  // data.
  std::optional<Violation> held_although_stale() const {
    for (const StaleLoad& load : stale_loads_) {
      if (load.region != 0 && oracle_.held(history_.region(load.core, load.region))) {
        return read_stale(load, "survives the crash");
      }
    }
    return {};
  }

  void report(std::optional<Violation> violation, Time when) {
    if (!violation) return;
    const std::uint64_t point = found.result.all_points;
    if (found.wrong.empty() || found.wrong.back() != point) found.wrong.push_back(point);
    if (found.first) return;
    violation->point = found.result.all_points;
    violation->when = when;
    found.first = std::move(violation);
  }

  std::optional<Violation> recover() {
    try {
      image_.recover();
      return {};
    } catch (const RecoveryError& error) {
      return gives_up(error.what());
    }
  }
  static Violation gives_up(std::string_view why) {
    return {.problem = fmt::format("recovery failed: {}", why)};
  }

  // Returns a violation for the finding, with recovery's own error message, if any.
  Violation violation_of(const Oracle::Finding& finding, std::optional<Violation> recovery) const {
    Violation violation = std::move(recovery).value_or(Violation{});
    violation.finding = finding;
    const LineData line = image_.before_recovery(Line::of(finding.address));
    std::memcpy(&violation.before_recovery, line.data() + finding.address % kLineBytes,
                sizeof violation.before_recovery);
    return violation;
  }

  std::optional<Violation> recover_and_check() {
    std::optional<Violation> violation = recover();
    if (const auto finding = oracle_.check_image(image_, image_.changed())) {
      violation = violation_of(*finding, violation);
    }
    image_.mark_checked();
    if (!violation) violation = held_although_stale();
    return violation;
  }

  std::optional<Violation> visit(bool inspect) {
    ++found.result.images;
    ++found.result.different;
    std::optional<Violation> violation = recover_and_check();
    found.result.repaired += image_.repaired();
    if (violation) keep_wrong();
    if (!violation && options_.at && found.result.all_points == last_point_) keep();
    if (inspect && checker_.wants(violation.has_value())) show({});
    image_.undo_recovery();
    if (!violation && !image_.survives_restarts(history_, found.result.restarts)) {
      violation = Violation{.problem =
                                "recovery that a crash interrupts and that runs again leaves a "
                                "different image"};
    }
    for (std::size_t i = 0; i < torn_.size() && !violation; ++i) violation = visit_torn(torn_[i]);
    if (options_.subsets == 0) return violation;
    std::mt19937_64 random = random_here();
    for (std::uint64_t i = 0; i < options_.subsets && !violation; ++i) {
      violation = visit_subset(random);
    }
    return violation;
  }

  // Returns a generator with the same seed for a point, whichever other points are visited.
  std::mt19937_64 random_here() const {
    return std::mt19937_64(options_.seed + found.result.all_points);
  }

  // Checks the image in which the latest write is torn.
  std::optional<Violation> visit_torn(const ChangedLine& torn) {
    const CrashImage::Decoded decoded = image_.decoded(torn.first, torn.second);
    Violation how{.torn = torn.first};
    if (!decoded.problem.empty()) {
      how.problem = gives_up(decoded.problem).problem;
      return how;
    }
    return visit_instead(decoded.lines, std::move(how));
  }

  // Checks an image in which some dirty lines, which the design allows to leave the caches, are
  // evicted.
  std::optional<Violation> visit_subset(std::mt19937_64& random) {
    std::vector<ChangedLine> written;
    const std::uint64_t wanted = 1 + random() % kMostInSubset;
    for (std::uint64_t i = 0; i < wanted && !dirty_.empty(); ++i) {
      const Line line = dirty_.at(random() % dirty_.size());
      const bool chosen = std::any_of(written.begin(), written.end(),
                                      [&](const auto& other) { return other.first == line; });
      const LineData newest = newest_.read(line);
      // Data that the device holds already may have been written since the line became dirty.
      if (chosen || !design_.may_leave(line) || image_.survived(line) == newest) continue;
      if (const auto left = backend_.evicted(line, newest)) {
        written.emplace_back(line, *left);
      }
    }
    if (written.empty()) return {};
    Violation how;
    for (const auto& [line, _] : written) how.evicted.push_back(line);
    return visit_instead(written, std::move(how));
  }

  // Checks an image in which some lines differ from the surviving data; `how` describes the reason
  // in the violation.
  std::optional<Violation> visit_instead(const std::vector<ChangedLine>& lines, Violation how) {
    ++found.result.images;
    ++found.result.different;
    image_.replace(lines);
    std::optional<Violation> violation = recover();
    if (const auto finding = oracle_.check_alternative(image_, image_.changed())) {
      violation = violation_of(*finding, violation);
    }
    if (violation) keep_wrong();
    if (inspects_all() && !violation) show(how);
    image_.undo_recovery();
    image_.undo_replacement();
    if (!violation) return {};
    violation->torn = how.torn;
    violation->evicted = how.evicted;
    return violation;
  }

  bool inspects_all() const { return checker_.gets_all(options_); }
  void show(Violation how) {
    how.point = found.result.all_points;
    how.when = machine_.now();
    const std::uint64_t number = checker_.show(image_.image());
    found.shown[number] = std::move(how);
    if (options_.keep && !wrong_is_kept_ && checker_.rejects(number)) keep_wrong();
  }

  void keep() const {
    if (options_.keep && !wrong_is_kept_) options_.keep(image_.image());
  }
  void keep_wrong() {
    keep();
    wrong_is_kept_ = true;
  }

  void save() const {
    DeviceImage device = device_image(image_.device());
    backend_.add_spare_bits(device);
    options_.save(device, backend_.registers());
  }

  const Machine& machine_;
  const Memory& pm_;
  const Image& newest_;
  const Design& design_;
  const BackendParts& backend_;
  const bool persistent_caches_;
  AdvancingHistory& history_;
  Oracle oracle_;
  CrashImage image_;
  ContentsCheck contents_;
  const CrashOptions& options_;
  Selection visited_, inspected_;
  const Part part_;
  SharedChecker& checker_;
  const std::uint64_t last_point_;  // Number of the last point counted beforehand
  bool visiting_;                   // True if the latest point is visited
  std::uint64_t slice_ = 0;         // Slice of the point visited last
  bool wrong_is_kept_ = false;
  LineSet dirty_;
  std::vector<StaleLoad> stale_loads_;
  std::vector<ChangedLine> torn_;  // Torn images of the latest write's line
};

// Explains the first violation. The history has dropped what the explanation needs, so the run is
// repeated up to the violation with the whole history.
CrashExplanation explain_first(const Violation& first, const trace::TraceFile& trace,
                               const Configuration& configuration, const CrashOptions& options,
                               const Plan& plan) {
  CrashedMachine crashed(trace, configuration, Versions::kAll);
  if (!first.finding) return explain_violation(first, configuration, trace, crashed.history);
  crashed.history.keep_all();
  const CrashOptions repeated{.seed = options.seed, .at = options.at, .subsets = options.subsets};
  SharedChecker no_checker(nullptr);
  CrashRun again(crashed, repeated, plan, Part(0, 1), no_checker);
  crashed.machine.observe(static_cast<PersistenceObserver*>(&again));
  crashed.machine.observe(static_cast<ProgramObserver*>(&again));
  crashed.machine.run([&](double) { return !again.found.first; });
  return explain_violation(again.found.first.value_or(first), configuration, trace,
                           crashed.history);
}

void check_verifiable(const Configuration& configuration) {
  std::vector<std::string> problems;
  if (!configuration.design.promises().any()) {
    problems.push_back(fmt::format(
        "ordering={} with atomicity={} has no durability guarantees, so there is nothing to "
        "verify; choose another design, for example sw-undo",
        configuration.design.ordering().name, configuration.design.atomicity().name));
  }
  if (configuration.run.lock_order != LockOrder::kRecorded) {
    problems.push_back(
        "run.lock_order=simulated changes the values that the program would have stored, so crash "
        "images can't be checked; choose run.lock_order=recorded");
  }
  if (configuration.run.instances != 1) {
    problems.push_back(
        "crash images can be checked only for one copy of the program; choose run.instances=1");
  }
  if (!problems.empty()) throw ConfigError(problems);
}

// True if the design adds only regions to the guarantees of x86. On a program without regions it
// would be checked for the guarantees of x86 alone.
bool adds_regions_alone(const Promises& promises) {
  return promises.whole_regions && promises.fences == FencePromise::kFlushed &&
         !promises.stores_in_order && !promises.caches_persist;
}

// Throws if there is nothing to check: crash() never reports success for such a run.
void require_checkable(const trace::TraceFile& trace, const Configuration& configuration,
                       const AdvancingHistory& history, const CrashOptions& options,
                       bool image_is_decoded) {
  const std::string& path = trace.path();
  if (trace.metadata().pm_regions.empty()) {
    throw Error(fmt::format(
        "{}: the recording has no persistent memory, so there is no image to check; record again "
        "and declare persistent memory with pm.h, or with the options pm-path, pm-range, pm-hint "
        "or pm-heap",
        path));
  }
  if (history.words() == 0) {
    throw Error(fmt::format(
        "{}: the recording stores nothing to persistent memory, so there is no image to check; "
        "record a run that does",
        path));
  }
  const DesignConfiguration& design = configuration.design;
  if (!history.has_regions() && !image_is_decoded && options.external_checker == nullptr &&
      adds_regions_alone(design.promises())) {
    throw Error(fmt::format(
        "{}: the recording has no atomic regions, and without them atomicity={} guarantees no more "
        "than x86; choose atomicity=none (as in x86-bare) to check the program's flushes and "
        "fences, or name a checker",
        path, design.atomicity().name));
  }
}

// Throws if a check that was requested did not happen.
void check_judged(const trace::TraceFile& trace, const CrashOptions& options,
                  const CrashResult& result) {
  if (result.violations > 0) return;
  if (result.images == 0) {
    throw Error(fmt::format(
        "{}: no data became persistent and no guarantee covered any, so no image was checked; "
        "check that the program flushes and fences its stores",
        trace.path()));
  }
  if (options.external_checker != nullptr && result.inspected == 0) {
    throw Error(fmt::format(
        "{}: no data became persistent, so the checker received no image; remove the checker",
        trace.path()));
  }
}

void check_saved(const ImageDecoder* decoder, std::uint64_t points) {
  if (decoder == nullptr) {
    throw ConfigError(
        {"save-image: the device holds unencoded data, so there is nothing to decode; choose a "
         "design whose backend encodes lines, for example parallel"});
  }
  if (points == 0) throw ConfigError({"save-image: no data are persistent at that time"});
}

// The parts of a crash run. Each part simulates the whole run, and checks its own slices of the
// points.
class CrashParts {
 public:
  CrashParts(const trace::TraceFile& trace, const Configuration& configuration,
             const CrashOptions& options, const Plan& plan, std::uint32_t parts, Versions versions)
      : trace_(trace),
        configuration_(configuration),
        options_(options),
        plan_(plan),
        versions_(versions),
        checker_(options.external_checker),
        found_(parts) {}

  // Runs a part, on any thread.
  void run(std::uint32_t number, const std::function<bool(double)>& progress) {
    const HandlerStack room;
    CrashedMachine crashed(trace_, configuration_, versions_);
    if (number == 0) check(crashed);
    CrashRun crash_run(crashed, options_, plan_, part(number), checker_);
    pmemsim::run(crashed.machine, crash_run, &crash_run, progress);
    crash_run.check_all_contents();
    found_[number] = std::move(crash_run.found);
  }

  // Returns the results of all parts together, after all have ended.
  Found take() {
    Found all;
    for (std::uint32_t number = 0; number < found_.size(); ++number) {
      all.add(std::move(found_[number]), part(number));
    }
    if (options_.external_checker != nullptr) all.add(options_.external_checker->wrong());
    all.count();
    return all;
  }

 private:
  Part part(std::uint32_t number) const {
    return {number, static_cast<std::uint32_t>(found_.size())};
  }
  void check(const CrashedMachine& crashed) const {
    require_checkable(trace_, configuration_, crashed.history, options_,
                      crashed.decoder != nullptr);
    if (options_.save) check_saved(crashed.decoder.get(), plan_.all_points);
  }

  const trace::TraceFile& trace_;
  const Configuration& configuration_;
  const CrashOptions& options_;
  const Plan& plan_;
  const Versions versions_;
  SharedChecker checker_;
  std::vector<Found> found_;  // By part
};

// Runs all parts, and returns their results.
Found run_all(const trace::TraceFile& trace, const Configuration& configuration,
              const CrashOptions& options, const Plan& plan, std::uint32_t parts, Versions versions,
              const std::function<bool(double)>& progress) {
  CrashParts crash_parts(trace, configuration, options, plan, parts, versions);
  run_parts(parts, progress,
            [&](std::uint32_t number, const std::function<bool(double)>& progress_of_part) {
              crash_parts.run(number, progress_of_part);
            });
  return crash_parts.take();
}

// Does the same with a history of bounded size, if that is enough. An external checker must not get
// any image twice, so that all versions are remembered for it from the beginning.
Found run_with_versions(const trace::TraceFile& trace, const Configuration& configuration,
                        const CrashOptions& options, const Plan& plan, std::uint32_t parts,
                        const std::function<bool(double)>& progress) {
  if (options.external_checker == nullptr) {
    try {
      return run_all(trace, configuration, options, plan, parts, Versions::kLatest, progress);
    } catch (const ForgottenVersion&) {
    }
  }
  return run_all(trace, configuration, options, plan, parts, Versions::kAll, progress);
}

// Number of copies of persistent memory: those of the machine, and the surviving data (twice, if
// they have to be decoded). Another machine, which counts the points beforehand or runs again for
// the explanation, has copies, too. (An image that is kept is one more.)
constexpr std::uint64_t kCopies = Machine::kCopies + 2 + Machine::kCopies;

// All parts simulate the whole run, which takes half of the time or more. Further parts would gain
// little time, and cost as much of the processors and the memory as the first ones.
constexpr std::uint64_t kMostParts = 4;

}  // namespace

CrashResult crash(const trace::TraceFile& trace, const Configuration& configuration,
                  const CrashOptions& options, const std::function<bool(double)>& progress) {
  check_verifiable(configuration);
  const std::uint64_t copies = options.keep ? kCopies + 1 : kCopies;
  check_host_memory(trace, copies);
  const std::uint64_t most_parts =
      options.at || options.keep ? 1 : std::min(copies_that_fit(trace) / copies, kMostParts);
  const auto parts = static_cast<std::uint32_t>(std::min<std::uint64_t>(options.parts, most_parts));
  const auto start = std::chrono::steady_clock::now();
  const Plan plan = plan_of(trace, configuration, options, share_of(progress, 0, kCounting));
  const double counted = plan.all_points > 0 ? kCounting : 0;
  const Found found = run_with_versions(trace, configuration, options, plan, parts,
                                        share_of(progress, counted, 1 - counted));
  CrashResult result = found.result;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  result.wall_s = wall.count();
  if (options.at && result.images == 0) {
    throw ConfigError({"at: no data are persistent or guaranteed at that time"});
  }
  check_judged(trace, options, result);
  if (found.first) {
    result.explanation = explain_first(*found.first, trace, configuration, options, plan);
  }
  return result;
}

}  // namespace pmemsim
