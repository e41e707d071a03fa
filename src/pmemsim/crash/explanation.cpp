#include "pmemsim/crash/explanation.hpp"

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/interface/region_id.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {
namespace {

using UnitId = ProgramHistory::UnitId;

std::string time_of(Time when) {
  return fmt::format("{:.3f} ns", static_cast<double>(when.count) / 1000.0);
}

std::string region_name(std::uint64_t region, CoreId thread) {
  return fmt::format("region {} of thread {}", region, thread);
}

std::string name(const ProgramHistory& history, UnitId unit) {
  const ProgramHistory::Unit& found = history.unit(unit);
  if (found.fence != ProgramHistory::kNone)
    return fmt::format("a fence of thread {}", found.thread);
  return found.region == 0 ? fmt::format("a store of thread {} outside regions", found.thread)
                           : region_name(found.region, found.thread);
}

// Records the last events of a word's line, and when its values were guaranteed persistent, until
// the violation. Changes that the backend made to the line's data (encoding) are undone, as
// recovery undoes them.
class Witness final : public PersistenceObserver, public ProgramObserver {
 public:
  Witness(const Violation& violation, const Machine& machine, bool persistent_caches,
          const ProgramHistory& history)
      : machine_(machine),
        violation_(violation),
        address_(violation.finding->address),
        line_(Line::of(address_)),
        persistent_caches_(persistent_caches),
        history_(history),
        decoder_(machine.design().backend().parts().decoder()) {}

  void persisted(const Write& write, PersistencePoint, Time when) override {
    if (persistent_caches_) return;
    follow(write);
    point("becomes persistent", when);
  }
  void persisted_with_next(const Write& write) override {
    if (!persistent_caches_) follow(write);
  }
  void dropped(const Write& write, Time when) override {
    if (persistent_caches_) return;
    Write before = write;
    if (decoder_ != nullptr) before.data = machine_.pm().surviving(write.line);
    follow(before);
    point("is removed from its queue", when);
  }
  void survivors_changed(Time) override { ++points_; }
  void persisted_in_caches(Line line, const LineData& data, Time when) override {
    witness(line, "the caches' copy of the line", data, "becomes persistent", when);
    ++points_;
  }
  void stored(Line, std::uint32_t) override {}
  void region_durable(CoreId core, std::uint64_t region) override {
    guaranteed(history_.region(core, region));
  }
  void fence_fulfilled(CoreId core, std::uint64_t number) override {
    const UnitId fence = history_.fence(core, number);
    if (fence == ProgramHistory::kNone) return;
    for (const UnitId unit : history_.follows(fence)) guaranteed(unit);
  }
  bool reached() const {
    return points_ > violation_.point || machine_.now() > violation_.when ||
           (points_ == violation_.point && !violation_.guaranteed_since);
  }
  const std::deque<std::string>& events() const { return events_; }

 private:
  static constexpr std::size_t kEvents = 8;

  // A write in this step to the line or to a log entry of it, and the data that a program reads
  // there afterwards.
  struct Seen {
    Write write;
    Line read;
    LineData data;
  };

  void follow(const Write& write) {
    if ((write.bytes & bytes_from(address_ % kLineBytes, sizeof(std::uint64_t))) == 0) return;
    const auto tell = [&](Line line, const LineData& data) { line_changed(write, line, data); };
    if (decoder_ == nullptr) return tell(write.line, write.data);
    decoder_->registers_changed([&](Line line, const LineData& data) {
      if (write.kind == WriteKind::kData) tell(line, data);
    });
    decoder_->changed(write.line, write.data, tell);
  }
  void line_changed(const Write& write, Line line, const LineData& data) {
    const bool wanted = write.kind == WriteKind::kLog ? write.home == line_ : line == line_;
    if (write.kind != WriteKind::kMetadata && wanted) {
      seen_ = {write, line, data};
    } else if (seen_ && line == seen_->read) {
      seen_->data = data;
    }
  }
  void point(std::string_view happens, Time when) {
    if (seen_) witness(line_, what(seen_->write), seen_->data, happens, when);
    seen_.reset();
    ++points_;
  }
  static std::string what(const Write& write) {
    if (write.kind != WriteKind::kLog) return "a write of the line";
    return fmt::format("the line's log entry of {}",
                       region_name(region_number(write.owner), core_of(write.owner)));
  }
  void witness(Line line, std::string_view what, const LineData& data, std::string_view happens,
               Time when) {
    if (line == line_ && !reached()) {
      std::uint64_t value = 0;
      std::memcpy(&value, data.data() + address_ % kLineBytes, sizeof value);
      note(fmt::format("{:>16}  {} {}; the word is {:#x} there", time_of(when), what, happens,
                       value));
    }
  }
  void guaranteed(UnitId unit) {
    if (unit == ProgramHistory::kNone || reached()) return;
    for (const auto& write : history_.writes(unit)) {
      if (Line::of(history_.word(write.word).address) != line_) continue;
      note(fmt::format("{:>16}  {} is guaranteed to survive", time_of(machine_.now()),
                       name(history_, unit)));
      return;
    }
  }
  void note(std::string event) {
    // Skips repetitions: words of one line are guaranteed at once.
    if (!events_.empty() && events_.back() == event) return;
    events_.push_back(std::move(event));
    if (events_.size() > kEvents) events_.pop_front();
  }

  const Machine& machine_;
  const Violation& violation_;
  const std::uint64_t address_;
  const Line line_;
  const bool persistent_caches_;
  const ProgramHistory& history_;
  const std::unique_ptr<ImageDecoder> decoder_;
  std::optional<Seen> seen_;
  std::uint64_t points_ = 0;
  std::deque<std::string> events_;
};

std::string source_of(const trace::TraceFile& trace, std::uint32_t site) {
  return trace::text_of(trace::location_of(trace.sites(), site));
}

// Returns the location of the unit's store to the word; nothing if it freed the word instead.
std::optional<std::string> find_store(const trace::TraceFile& trace, const ProgramHistory& history,
                                      UnitId unit, std::uint64_t address) {
  for (const auto& write : history.writes(unit)) {
    if (history.word(write.word).address == address) return source_of(trace, write.site);
  }
  return std::nullopt;
}
std::string store_of(const trace::TraceFile& trace, const ProgramHistory& history, UnitId unit,
                     std::uint64_t address) {
  return find_store(trace, history, unit, address).value_or("an unknown source line");
}

std::string writer_of(const trace::TraceFile& trace, const ProgramHistory& history,
                      std::uint64_t address, std::uint64_t value) {
  const auto* words = history.line(Line::of(address));
  const auto word = (*words)[address % kLineBytes / sizeof value];
  for (const auto& version : history.word(word).versions) {
    if (version.value != value) continue;
    if (version.unit == ProgramHistory::kNone)
      return "this value is from before the program's "
             "start";
    return fmt::format("{} stored this value at {}", name(history, version.unit),
                       store_of(trace, history, version.unit, address));
  }
  return "no region and no store outside regions stores this value there";
}

// Returns the units on the shortest path from a unit to one that it follows, without both ends.
std::vector<UnitId> way(const ProgramHistory& history, UnitId from, UnitId to) {
  std::unordered_map<UnitId, UnitId> came_from{{from, from}};
  std::deque<UnitId> left{from};
  while (!left.empty() && !came_from.contains(to)) {
    for (const UnitId earlier : history.follows(left.front())) {
      if (came_from.try_emplace(earlier, left.front()).second) left.push_back(earlier);
    }
    left.pop_front();
  }
  std::vector<UnitId> found;
  for (UnitId unit = came_from.at(to); unit != from; unit = came_from.at(unit)) {
    found.insert(found.begin(), unit);
  }
  return found;
}

// Explains why a unit can't be in the image without one that it follows.
std::string dependence(const ProgramHistory& history, UnitId unit, UnitId earlier) {
  constexpr std::size_t kNamed = 3;
  const std::vector<UnitId> between = way(history, unit, earlier);
  const std::string follows = fmt::format("{} depends on it, because it follows {}",
                                          name(history, unit), name(history, earlier));
  if (between.empty()) {
    const bool same_thread = history.unit(unit).thread == history.unit(earlier).thread;
    return follows + (same_thread ? ", which its thread ran before it"
                                  : ", whose data it reads or overwrites");
  }
  std::string names;
  for (std::size_t i = 0; i < between.size() && i < kNamed; ++i) {
    names += (i == 0 ? "" : ", ") + name(history, between[i]);
  }
  if (between.size() > kNamed) names += fmt::format(" and {} more", between.size() - kNamed);
  return fmt::format("{} by way of {}", follows, names);
}

std::string what_recovery_did(const Violation& violation) {
  const std::uint64_t held = violation.finding->held;
  return violation.before_recovery == held
             ? "recovery found this value and kept it"
             : fmt::format("recovery wrote this value over {:#x}", violation.before_recovery);
}

// Describes the stores that the fence covers.
std::string_view covered(FencePromise fences) {
  return fences == FencePromise::kFlushed ? "after a flush of it"
                                          : "which covers all stores before it";
}

std::vector<std::string> explain(const Violation& violation, const trace::TraceFile& trace,
                                 const ProgramHistory& history, FencePromise fences) {
  const Oracle::Finding& finding = *violation.finding;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("the word at {:#x} (line {:#x}) holds {:#x}: {}", finding.address,
                              Line::of(finding.address).address(), finding.held,
                              writer_of(trace, history, finding.address, finding.held)));
  lines.push_back(what_recovery_did(violation));
  if (finding.unit == ProgramHistory::kNone) {
    lines.push_back(
        fmt::format("it should hold {:#x}, as before the program's start, or the value of a later "
                    "region",
                    finding.should_hold));
    return lines;
  }
  const std::string unit = name(history, finding.unit);
  lines.push_back(fmt::format("it should hold {:#x}: {} stored this value at {}",
                              finding.should_hold, unit,
                              store_of(trace, history, finding.unit, finding.address)));
  const ProgramHistory::Unit& root = history.unit(finding.because_of);
  if (root.fence != ProgramHistory::kNone) {
    lines.push_back(fmt::format("the fence of thread {} at {}, {}, has completed", root.thread,
                                source_of(trace, root.fence), covered(fences)));
    return lines;
  }
  const bool itself = finding.because_of == finding.unit;
  if (!itself) lines.push_back(dependence(history, finding.because_of, finding.unit));
  const std::string because_of = name(history, finding.because_of);
  if (finding.seen_at) {
    const auto stored = find_store(trace, history, finding.because_of, *finding.seen_at);
    lines.push_back(fmt::format(
        "and {} is in the image{}: the word at {:#x} {}", because_of, itself ? " in part" : "",
        *finding.seen_at,
        stored ? "holds what it stored at " + *stored
               : "has changed, which is correct only if the region that frees it is in the image"));
  } else {
    lines.push_back(fmt::format("and {} was guaranteed to survive", because_of));
  }
  return lines;
}

}  // namespace

CrashExplanation explain_violation(const Violation& violation, const Configuration& configuration,
                                   const trace::TraceFile& trace, const ProgramHistory& history) {
  CrashExplanation explanation{violation.point, violation.when, {}};
  explanation.lines.push_back(fmt::format("a crash at {}, after change {} of the persistent state:",
                                          time_of(violation.when), violation.point));
  if (!violation.evicted.empty()) {
    std::string lines;
    for (const Line line : violation.evicted) {
      lines += fmt::format("{}{:#x}", lines.empty() ? "" : ", ", line.address());
    }
    explanation.lines.push_back(
        fmt::format("if the caches had just written back lines {}:", lines));
  }
  if (violation.torn) {
    explanation.lines.push_back(
        fmt::format("if line {:#x} had just been written in part:", violation.torn->address()));
  }
  if (!violation.problem.empty()) explanation.lines.push_back(violation.problem);
  if (!violation.finding) return explanation;
  const FencePromise fences = configuration.design.promises().fences;
  for (std::string& line : explain(violation, trace, history, fences)) {
    explanation.lines.push_back(std::move(line));
  }
  Machine machine(configuration, trace);
  machine.format();
  Witness witness(violation, machine, machine.design().promises().caches_persist, history);
  machine.observe(static_cast<PersistenceObserver*>(&witness));
  machine.observe(static_cast<ProgramObserver*>(&witness));
  machine.run([&](double) { return !witness.reached(); });
  explanation.lines.push_back("earlier events of the line:");
  for (const std::string& event : witness.events()) explanation.lines.push_back(event);
  if (witness.events().empty())
    explanation.lines.push_back("none: the line was never written back");
  return explanation;
}

}  // namespace pmemsim
