#include "pmemsim/timeline/perfetto_timeline.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"

namespace pmemsim {
namespace {

constexpr std::array<std::string_view, 8> kFates{
    "used",    "used in part", "taken back", "thread ended", "range discarded", "metadata changed",
    "too old", "run ended"};
constexpr std::array<std::string_view, 5> kOccupancies{"WPQ entries", "log queue entries",
                                                       "prepared results", "persist buffer entries",
                                                       "speculation buffer entries"};
constexpr int kChannelRank = 1 << 16, kBackendRank = 1 << 17;
constexpr int kFirstCounter = 16, kFirstBank = 32;
constexpr std::uint64_t kPicosecondsPerNanosecond = 1000;

std::uint64_t ns_between(Time from, Time until) {
  return static_cast<std::uint64_t>((until - from).count) / kPicosecondsPerNanosecond;
}

Annotation address(std::string_view name, Line line) {
  return {.name = name, .number = line.address(), .address = true};
}

std::string_view suffix(Persist::Fate fate) {
  switch (fate) {
    case Persist::Fate::kWritten:
      return "";
    case Persist::Fate::kMerged:
      return " (merged)";
    case Persist::Fate::kDropped:
      return " (dropped)";
    case Persist::Fate::kDuplicate:
      return " (duplicate)";
  }
  return "";
}

}  // namespace

PerfettoTimeline::PerfettoTimeline(const std::string& path, const Intervals& shown,
                                   SourceNames& sources, std::vector<std::string> sub_operations)
    : shown_(shown), sources_(sources), sub_operations_(std::move(sub_operations)), file_(path) {}

std::uint64_t PerfettoTimeline::group(Group group, std::uint32_t unit) {
  std::uint64_t& found = groups_[{group, unit}];
  if (found != 0) return found;
  const int number = static_cast<int>(unit);
  switch (group) {
    case Group::kCore:
      found = file_.group(fmt::format("core {}", unit), number);
      break;
    case Group::kChannel:
      found = file_.group(fmt::format("PM channel {}", unit), kChannelRank + number);
      break;
    case Group::kBackend:
      found = file_.group("backend", kBackendRank);
      break;
  }
  return found;
}

SliceTrack& PerfettoTimeline::track(Kind kind, std::uint32_t unit, std::uint32_t part) {
  const TrackId id{kind, unit, part};
  if (const auto found = tracks_.find(id); found != tracks_.end()) return found->second;
  const int rank = static_cast<int>(kind);
  const int number = static_cast<int>(unit);
  const auto make = [&](Group of, std::uint32_t of_unit, std::string name, int at) -> SliceTrack& {
    return tracks_.emplace(id, SliceTrack(group(of, of_unit), std::move(name), at)).first->second;
  };
  switch (kind) {
    case Kind::kRegions:
      return make(Group::kCore, unit, "regions", rank);
    case Kind::kFences:
      return make(Group::kCore, unit, "fences", rank);
    case Kind::kStalls:
      return make(Group::kCore, unit, "stalls", rank);
    case Kind::kPersists:
      return make(Group::kCore, unit, "persists", rank);
    case Kind::kSpeculation:
      return make(Group::kCore, unit, "speculation", rank);
    case Kind::kWaitingWrites:
      return make(Group::kChannel, unit, "writes that wait for an entry", rank);
    case Kind::kRefreshes:
      return make(Group::kChannel, unit, "refreshes", rank);
    case Kind::kBank:
      return make(Group::kChannel, unit, fmt::format("bank {}", part),
                  kFirstBank + static_cast<int>(part));
    case Kind::kUnit:
      return make(Group::kBackend, 0, fmt::format("unit {}", unit), kFirstBank + 2 * number);
    case Kind::kSubOperations:
      return make(Group::kBackend, 0, fmt::format("sub-operations of unit {}", unit),
                  kFirstBank + 2 * number + 1);
    case Kind::kPredictions:
      break;
  }
  return make(Group::kBackend, 0, "predictions", rank);
}

void PerfettoTimeline::slice(SliceTrack& track, std::string_view name, Time begin, Time end,
                             const std::vector<Annotation>& annotations, std::uint64_t flow) {
  file_.end(file_.begin(track, name, begin, end, annotations, flow), end);
}

void PerfettoTimeline::add(const TimelineRegion& region) {
  if (!shown_.overlap(region.begin, region.end())) return;
  std::vector<Annotation> annotations{{.name = "region", .number = region.number}};
  if (region.rank > 0) annotations.push_back({.name = "rank", .number = region.rank});
  if (region.executions > 1) {
    annotations.push_back({.name = "executions", .number = region.executions});
  }
  if (region.durable == kNever) annotations.push_back({.name = "durable", .text = "not by design"});
  const std::string name = fmt::format("region {}", region.number);
  const std::uint64_t lane = file_.begin(track(Kind::kRegions, region.core), name, region.begin,
                                         region.end(), annotations);
  if (region.end() > region.retired) {
    file_.begin_inner(lane, "commit", region.retired);
    file_.end(lane, region.end());
  }
  file_.end(lane, region.end());
}

void PerfettoTimeline::add(const StageEvent& event) {
  if (const std::optional<Persist> over = persists_.add(event)) add_persist(*over);
  const auto plain_slice = [&](Kind kind, std::string_view name) {
    if (shown_.overlap(event.at[0], event.at[1])) {
      slice(track(kind, event.unit), name, event.at[0], event.at[1]);
    }
  };
  switch (event.stage) {
    case Stage::kFence:
      return add_fence(event);
    case Stage::kStall:
      return plain_slice(Kind::kStalls, kCauseTexts[event.detail].name);
    case Stage::kPause:
      return plain_slice(Kind::kSpeculation, "pause");
    case Stage::kRefresh:
      return plain_slice(Kind::kRefreshes, "refresh");
    case Stage::kRollBack:
      if (!shown_.overlap(event.at[0], event.at[0])) return;
      return file_.instant(track(Kind::kSpeculation, event.unit), "region re-executes",
                           event.at[0]);
    case Stage::kStaleLine:
      if (!shown_.overlap(event.at[0], event.at[0])) return;
      return file_.instant(track(Kind::kSpeculation, 0), "misspeculation", event.at[0],
                           {address("line", event.line)});
    case Stage::kRead:
      return add_read(event);
    case Stage::kOccupancy:
      return add_occupancy(event);
    case Stage::kUnitTaken:
    case Stage::kUnitReleased:
      return add_unit(event);
    case Stage::kSubOperation:
      return add_sub_operation(event);
    case Stage::kPrediction:
      return add_prediction(event);
    default:
      return;
  }
}

void PerfettoTimeline::add_fence(const StageEvent& event) {
  if (!shown_.overlap(event.at[1], event.at[2])) return;
  slice(track(Kind::kFences, event.unit), "fence", event.at[1], event.at[2],
        {{.name = "source", .text = sources_.of(event.part)},
         {.name = "in_store_queue_ns", .number = ns_between(event.at[0], event.at[1])}});
}

void PerfettoTimeline::add_persist(const Persist& write) {
  if (!shown_.overlap(write.begin(), write.end)) return;
  std::vector<Annotation> annotations{address("line", write.line)};
  if (write.kind == WriteKind::kLog) annotations.push_back(address("of_line", write.home));
  if (write.region != 0) annotations.push_back({.name = "region", .number = write.region});
  if (write.origin) {
    annotations.push_back(
        {.name = write.origin->flush ? "flush" : "store", .text = sources_.of(write.origin->site)});
  }
  const bool written = write.fate == Persist::Fate::kWritten;
  const std::string name = std::string(write.name()) + std::string(suffix(write.fate));
  const Time persistent = min(write.persistent, write.end);
  if (write.core && shown_.overlap(write.begin(), persistent)) {
    slice(track(Kind::kPersists, *write.core), name, write.begin(), persistent, annotations,
          written ? write.id : 0);
  }
  if (!written) return;
  if (write.core) annotations.push_back({.name = "core", .number = *write.core});
  if (write.accepted > write.arrived && shown_.overlap(write.arrived, write.accepted)) {
    slice(track(Kind::kWaitingWrites, write.channel), name, write.arrived, write.accepted,
          annotations);
  }
  if (!shown_.overlap(write.started, write.finished)) return;
  slice(track(Kind::kBank, write.channel, write.bank), name, write.started, write.finished,
        annotations, write.id);
}

void PerfettoTimeline::add_read(const StageEvent& event) {
  if (!shown_.overlap(event.at[1], event.at[2])) return;
  slice(track(Kind::kBank, event.unit, event.part), "read", event.at[1], event.at[2],
        {address("line", event.line),
         {.name = "queued_ns", .number = ns_between(event.at[0], event.at[1])}});
}

// Writes a value within the shown time, and the one before it.
void PerfettoTimeline::add_occupancy(const StageEvent& event) {
  const auto structure = static_cast<LoggedStructure>(event.detail);
  Counter& counter = counters_[{structure, event.unit}];
  const bool shown = shown_.overlap(event.at[0], event.at[0]);
  if (shown) {
    if (counter.uuid == 0) counter.uuid = new_counter(structure, event.unit);
    if (!counter.shown) file_.value(counter.uuid, shown_.begin_of(event.at[0]), counter.value);
    file_.value(counter.uuid, event.at[0], event.id);
  }
  counter.shown = shown;
  counter.value = event.id;
}

std::uint64_t PerfettoTimeline::new_counter(LoggedStructure structure, std::uint32_t unit) {
  const auto number = static_cast<std::size_t>(structure);
  const int rank = kFirstCounter + static_cast<int>(number);
  switch (structure) {
    case LoggedStructure::kPersistBuffer:
      return file_.counter(group(Group::kCore, unit), kOccupancies[number], rank);
    case LoggedStructure::kPreparedResults:
      return file_.counter(group(Group::kBackend, 0), kOccupancies[number], rank);
    case LoggedStructure::kWpq:
    case LoggedStructure::kLogQueue:
    case LoggedStructure::kSpeculationBuffer:
      break;
  }
  return file_.counter(group(Group::kChannel, unit), kOccupancies[number], rank);
}

// Units have no numbers of their own: work gets the free one with the lowest number.
void PerfettoTimeline::add_unit(const StageEvent& event) {
  if (event.stage == Stage::kUnitTaken) {
    const auto free = std::ranges::find(busy_units_, false);
    const auto unit = static_cast<std::uint32_t>(free - busy_units_.begin());
    if (free == busy_units_.end()) busy_units_.push_back(false);
    busy_units_[unit] = true;
    working_[event.id] = {.unit = unit, .since = event.at[0], .predicted = event.flag};
    return;
  }
  const auto found = working_.find(event.id);
  if (found == working_.end()) return;
  const UnitWork work = found->second;
  working_.erase(found);
  busy_units_[work.unit] = false;
  if (!shown_.overlap(work.since, event.at[0])) return;
  const bool arrived = !event.flag;
  const std::string_view name = !arrived         ? "write that was only predicted"
                                : work.predicted ? "write after its prediction"
                                                 : "write";
  slice(track(Kind::kUnit, work.unit), name, work.since, event.at[0],
        {address("line", event.line)});
}

void PerfettoTimeline::add_sub_operation(const StageEvent& event) {
  const auto found = working_.find(event.id);
  if (found == working_.end() || !shown_.overlap(event.at[0], event.at[1])) return;
  slice(track(Kind::kSubOperations, found->second.unit), sub_operations_[event.part], event.at[0],
        event.at[1]);
}

void PerfettoTimeline::add_prediction(const StageEvent& event) {
  if (!shown_.overlap(event.at[0], event.at[1])) return;
  std::vector<Annotation> annotations{{.name = "core", .number = event.unit}};
  if (event.flag) annotations.push_back(address("line", event.line));
  slice(track(Kind::kPredictions, 0), kFates[event.detail], event.at[0], event.at[1], annotations);
}

}  // namespace pmemsim
