#include "pmemsim/machine/run/profile.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "pmemsim/analysis/flush_functions.hpp"
#include "pmemsim/common/error.hpp"
#include "pmemsim/machine/cpu/time_profile.hpp"
#include "pmemsim/machine/run/host_memory.hpp"
#include "pmemsim/machine/run/machine.hpp"

namespace pmemsim {
namespace {

using trace::Contexts;

constexpr std::array<std::string_view, kCauses> kCauseNames{
    "instructions", "dependence", "branch",      "private cache", "shared cache", "other core",
    "DRAM",         "PM",         "store queue", "fence",         "lock",         "condition",
    "barrier",      "join",       "order",       "commit",        "locked",       "speculation"};
constexpr std::array<std::string_view, 5> kStageNames{"", "WPQ", "backend", "log", "bank"};

std::string_view name_of(const TimeProfile::Part& part) {
  return part.stage == StallPart::kNone ? kCauseNames[static_cast<std::size_t>(part.cause)]
                                        : kStageNames[static_cast<std::size_t>(part.stage)];
}

// Makes the report of a profile: lines are charged to their callers where the reader expects that,
// and rows that the reader can't tell apart are merged.
class Report {
 public:
  explicit Report(const TimeProfile& profile)
      : profile_(profile),
        sites_(profile.sites()),
        functions_(profile.sites(), profile.contexts()),
        lines_(profile.sites().lines()) {
    for (const TimeProfile::Row& row : profile.rows()) {
      const auto kind = static_cast<trace::SiteKind>(sites_.sites()[row.at.line].kind);
      if (kind == trace::SiteKind::kFlush || kind == trace::SiteKind::kFence) {
        functions_.add_flush(row.at);
      }
    }
    for (const TimeProfile::Row& row : profile.rows()) {
      if (row.stores) functions_.add_store(row.at);
    }
    for (const TimeProfile::Row& row : profile.rows()) add(row);
  }

  // Returns the rows. Their durations are rounded so that they add up to the account's.
  std::vector<ProfileRow> rows(const Clock& clock) const {
    std::vector<ProfileRow> rows;
    CycleAccount before;
    for (const auto& [key, slots] : slots_) {
      const auto& [part, lock, calls] = key;
      const auto cause = static_cast<Cause>(part.first);
      const Picoseconds begin = clock.duration(before[cause]);
      before.add(cause, slots);
      rows.push_back({.calls = calls,
                      .cause = part.second,
                      .account = kCauseTexts[part.first].name,
                      .lock = lock,
                      .time = clock.duration(before[cause])});
      rows.back().time -= begin;
    }
    std::ranges::sort(rows, [](const ProfileRow& one, const ProfileRow& other) {
      return std::tie(other.time, one.calls, one.account, one.cause, one.lock) <
             std::tie(one.time, other.calls, other.account, other.cause, other.lock);
    });
    return rows;
  }
  std::vector<trace::SourceLocation> places() {
    std::vector<trace::SourceLocation> places(numbers_.size());
    for (const auto& [place, number] : numbers_) places[number] = place;
    return places;
  }

 private:
  // A line of the recording's table of sites, whose text is compared only once.
  struct KnownLine {
    bool seen = false, outside_program = false;
    std::uint32_t place = kNoPlace;  // its number among the places
  };
  static constexpr std::uint32_t kNoPlace = UINT32_MAX;

  KnownLine& known(std::uint32_t line) {
    KnownLine& found = lines_[line];
    if (!found.seen) {
      const bool library = sites_.string(sites_.line(line).file).starts_with("library/");
      found.seen = true;
      found.outside_program = library || trace::in_system_header(sites_, line);
    }
    return found;
  }

  void add(const TimeProfile::Row& row) {
    if (row.parts.empty() && row.plain.total() == 0) return;
    const std::vector<std::uint32_t> calls = calls_of(row.at);
    for (std::size_t i = 0; i < kCauses; ++i) {
      const auto cause = static_cast<Cause>(i);
      add({cause, cause, StallPart::kNone, row.plain[cause]}, calls);
    }
    for (const TimeProfile::Part& part : row.parts) add(part, calls);
  }
  void add(const TimeProfile::Part& part, const std::vector<std::uint32_t>& calls) {
    if (part.slots == 0) return;
    const bool lock = part.account == Cause::kLock && part.cause != Cause::kLock;
    slots_[{{static_cast<std::size_t>(part.account), name_of(part)}, lock, calls}] += part.slots;
  }

  std::vector<std::uint32_t> calls_of(const Contexts::Call& at) {
    const Contexts::Call line = profile_.contexts().outside(at, [this](std::uint32_t called) {
      return known(called).outside_program ||
             (functions_.persists(called) && !functions_.stores(called));
    });
    std::vector<std::uint32_t> calls{number_of(line.line)};
    for (Contexts::Node node = line.parent; node != Contexts::kRoot;
         node = profile_.contexts()[node].parent) {
      const std::uint32_t caller = profile_.contexts()[node].line;
      if (!known(caller).outside_program) calls.push_back(number_of(caller));
    }
    return calls;
  }
  std::uint32_t number_of(std::uint32_t line) {
    std::uint32_t& place = known(line).place;
    if (place == kNoPlace) {
      const auto next = static_cast<std::uint32_t>(numbers_.size());
      place = numbers_.try_emplace(trace::location_of(sites_, line), next).first->second;
    }
    return place;
  }

  const TimeProfile& profile_;
  const trace::SiteTable& sites_;
  trace::FlushFunctions functions_;
  std::map<trace::SourceLocation, std::uint32_t> numbers_;
  std::vector<KnownLine> lines_;
  // By account and cause, whether other threads waited for a lock, and places of the calls.
  using Key =
      std::tuple<std::pair<std::size_t, std::string_view>, bool, std::vector<std::uint32_t>>;
  std::map<Key, Slot> slots_;
};

void check_sums(const TimeProfile& profile, const Machine& machine) {
  CycleAccount accounted, charged;
  for (const auto& core : machine.cores()) accounted += core->account();
  for (const TimeProfile::Row& row : profile.rows()) {
    charged += row.plain;
    for (const TimeProfile::Part& part : row.parts) charged.add(part.account, part.slots);
  }
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (accounted[cause] != charged[cause]) {
      throw InternalError("the profile's rows of stall." + std::string(kCauseTexts[i].name) +
                          "_ns have " + std::to_string(charged[cause]) + " slots instead of " +
                          std::to_string(accounted[cause]));
    }
  }
}

}  // namespace

ProfileReport profile(const trace::TraceFile& trace, const Configuration& configuration,
                      const std::function<bool(double)>& progress) {
  check_fit(trace, configuration);
  check_host_memory(trace, Machine::kCopies * configuration.run.instances);
  const auto start = std::chrono::steady_clock::now();
  TimeProfile profile(trace.sites());
  Machine machine(configuration, trace);
  machine.skip_sealing();
  machine.profile(profile);
  if (!machine.run(progress)) throw Interrupted("the simulation was interrupted");
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  check_sums(profile, machine);
  Report report(profile);
  return {.result = result_of(machine, wall.count()),
          .places = report.places(),
          .rows = report.rows(machine.cores().front()->clock())};
}

}  // namespace pmemsim
