#include "pmemsim/crash/story.hpp"

#include <deque>

#include <fmt/format.h>

#include "pmemsim/sim/machine.hpp"

namespace pmemsim {
namespace {

using UnitId = ProgramHistory::UnitId;

std::string time_of(Picoseconds when) {
  return fmt::format("{:.3f} ns", static_cast<double>(when.count) / 1000.0);
}

std::string name(const ProgramHistory& history, UnitId unit) {
  const ProgramHistory::Unit& found = history.units()[unit];
  return found.region == 0 ? fmt::format("a store of thread {} outside regions", found.thread)
                           : fmt::format("region {} of thread {}", found.region, found.thread);
}

// Keeps the last events on a line, and when units were promised, until a point or the one after it.
class Witness final : public PersistenceObserver, public ProgramObserver {
 public:
  Witness(Line line, const Violation& violation, CoreId cores, bool persistent_caches,
          const ProgramHistory& history)
      : line_(line),
        last_(violation.point),
        until_(violation.point + violation.promised_since),
        persistent_caches_(persistent_caches),
        history_(history),
        fences_(cores) {}

  void persisted(const Write& write, PersistencePoint, Picoseconds when) override {
    if (!persistent_caches_) point(write.line, what(write.kind), "becomes persistent", when);
  }
  void dropped(const Write& write, Picoseconds when) override {
    if (!persistent_caches_) point(write.line, what(write.kind), "leaves its queue", when);
  }
  void survivors_changed(Picoseconds) override { ++points_; }
  void persisted_in_caches(Line line, const LineData&, Picoseconds when) override {
    point(line, "a store", "becomes visible", when);
  }
  void stored(Line) override {}
  void region_durable(CoreId core, std::uint64_t region) override {
    promised(history_.region(core, region));
  }
  void fence_completed(CoreId core) override {
    for (const UnitId unit : history_.made_durable(core, ++fences_[core])) promised(unit);
  }
  bool reached() const { return points_ >= until_; }
  const std::deque<std::string>& events() const { return events_; }

 private:
  static constexpr std::size_t kEvents = 8;

  static std::string_view what(WriteKind kind) {
    switch (kind) {
      case WriteKind::kData:
        return "a write";
      case WriteKind::kLog:
        return "a log entry";
      case WriteKind::kLogHeader:
        return "a log header";
      case WriteKind::kMetadata:
        return "metadata";
    }
    return "";
  }
  void point(Line line, std::string_view what, std::string_view happens, Picoseconds when) {
    if (line == line_ && points_ < last_) {
      note(fmt::format("{:>16}  {} {}", time_of(when), what, happens));
    }
    ++points_;
  }
  void promised(UnitId unit) {
    if (unit == ProgramHistory::kNone || reached()) return;
    for (const auto& write : history_.writes(unit)) {
      if (Line::of(history_.word(write.word).address) != line_) continue;
      note(fmt::format("{:>16}  {} is promised to survive", "", name(history_, unit)));
      return;
    }
  }
  void note(std::string event) {
    if (!events_.empty() && events_.back() == event) return;  // words of one line, promised at once
    events_.push_back(std::move(event));
    if (events_.size() > kEvents) events_.pop_front();
  }

  const Line line_;
  const std::uint64_t last_, until_;
  const bool persistent_caches_;
  const ProgramHistory& history_;
  std::vector<std::uint64_t> fences_;
  std::uint64_t points_ = 0;
  std::deque<std::string> events_;
};

std::string place(const trace::TraceFile& trace, std::uint32_t number) {
  const trace::SiteRecord& site = trace.sites().sites()[number];
  if (site.line == 0) return "an unknown line";
  return fmt::format("{}:{}", trace.sites().string(site.file), site.line);
}

// The unit's store to the word.
std::string store_of(const trace::TraceFile& trace, const ProgramHistory& history, UnitId unit,
                     std::uint64_t address) {
  for (const auto& write : history.writes(unit)) {
    if (history.word(write.word).address == address) return place(trace, write.site);
  }
  return "an unknown line";
}

std::string writer_of(const trace::TraceFile& trace, const ProgramHistory& history,
                      std::uint64_t address, std::uint64_t value) {
  const auto* words = history.line(Line::of(address));
  const auto word = (*words)[address % kLineBytes / sizeof value];
  for (const auto& version : history.word(word).versions) {
    if (version.value != value) continue;
    if (version.unit == ProgramHistory::kNone) return "it held that before the program began";
    return fmt::format("{} stored that at {}", name(history, version.unit),
                       store_of(trace, history, version.unit, address));
  }
  return "no region and no store outside regions leaves that there";
}

std::vector<std::string> explain(const Oracle::Finding& finding, const trace::TraceFile& trace,
                                 const ProgramHistory& history) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("the word at {:#x} (line {:#x}) holds {:#x}: {}", finding.address,
                              Line::of(finding.address).address(), finding.held,
                              writer_of(trace, history, finding.address, finding.held)));
  if (finding.unit == ProgramHistory::kNone) {
    lines.push_back(
        fmt::format("it should hold {:#x}, as before the program began, or what a "
                    "later region has left",
                    finding.should_hold));
    return lines;
  }
  const std::string unit = name(history, finding.unit);
  lines.push_back(fmt::format("it should hold {:#x}: {} stored that at {}", finding.should_hold,
                              unit, store_of(trace, history, finding.unit, finding.address)));
  const std::string root = name(history, finding.because_of);
  const bool itself = finding.because_of == finding.unit;
  if (!itself) lines.push_back(fmt::format("{} depends on that, for it follows {}", root, unit));
  if (finding.seen_at) {
    lines.push_back(fmt::format("and {} is there{}: the word at {:#x} holds what it stored at {}",
                                root, itself ? " in part" : "", *finding.seen_at,
                                store_of(trace, history, finding.because_of, *finding.seen_at)));
  } else {
    lines.push_back(fmt::format("and {} was promised to survive", root));
  }
  return lines;
}

}  // namespace

CrashStory tell_story(const Violation& violation, const Configuration& configuration,
                      const trace::TraceFile& trace, const ProgramHistory& history) {
  CrashStory story{violation.point, violation.when, {}};
  story.lines.push_back(fmt::format("a crash at {}, after change {} of the persistent state:",
                                    time_of(violation.when), violation.point));
  if (!violation.finding) {
    story.lines.push_back(violation.problem);
    return story;
  }
  if (!violation.evicted.empty()) {
    std::string lines;
    for (const Line line : violation.evicted) {
      lines += fmt::format("{}{:#x}", lines.empty() ? "" : ", ", line.address());
    }
    story.lines.push_back(fmt::format("if the caches had just written lines {} back:", lines));
  }
  if (violation.torn) {
    story.lines.push_back(fmt::format("if line {:#x} had been written in part, just before:",
                                      violation.torn->address()));
  }
  for (std::string& line : explain(*violation.finding, trace, history)) {
    story.lines.push_back(std::move(line));
  }
  Machine machine(configuration, trace);
  Witness witness(Line::of(violation.finding->address), violation, machine.cores_used(),
                  configuration.caches_persist(), history);
  machine.observe(static_cast<PersistenceObserver*>(&witness));
  machine.observe(static_cast<ProgramObserver*>(&witness));
  machine.run([&](double) { return !witness.reached(); });
  story.lines.push_back("what happened to the line before:");
  for (const std::string& event : witness.events()) story.lines.push_back(event);
  if (witness.events().empty()) story.lines.push_back("nothing: it was never written back");
  return story;
}

}  // namespace pmemsim
