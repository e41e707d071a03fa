#include "pmemsim/timeline/kanata_timeline.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/machine/cpu/cycle_account.hpp"
#include "pmemsim/timeline/output_file.hpp"

namespace pmemsim {
namespace {

constexpr std::uint8_t kStages = 0, kStalls = 1;  // lanes

const char* name_of_stall(std::uint8_t cause) { return kCauseTexts[cause].name.data(); }

std::string_view fate_text(Persist::Fate fate) {
  switch (fate) {
    case Persist::Fate::kWritten:
      return "written by its bank";
    case Persist::Fate::kMerged:
      return "merged with an older write of its line";
    case Persist::Fate::kDropped:
      return "dropped by the design";
    case Persist::Fate::kDuplicate:
      return "PM has its data already; only metadata are written";
  }
  return "";
}

}  // namespace

KanataTimeline::Core& KanataTimeline::core(std::uint32_t number) {
  if (number >= cores_.size()) cores_.resize(number + 1);
  return cores_[number];
}

std::size_t KanataTimeline::add_row(Row row) {
  rows_.push_back(std::move(row));
  return rows_.size() - 1;
}

void KanataTimeline::add(const StageEvent& event) {
  if (const std::optional<Persist> over = persists_.add(event)) add_persist(*over);
  if (event.stage == pmemsim::Stage::kStall) {
    Core& stalled = core(event.unit);
    if (stalled.stall) add_stall_row(event.unit, *stalled.stall);
    stalled.stall = {event.detail, event.at[0], event.at[1]};
  } else if (event.stage == pmemsim::Stage::kFence) {
    add_fence(event);
  } else if (event.stage == pmemsim::Stage::kRefresh) {
    add_refresh(event);
  }
}

void KanataTimeline::add_stall_row(std::uint32_t core, const Stall& stall) {
  if (!shown_.overlap(stall.from, stall.until)) return;
  add_row({.begin = stall.from,
           .end = stall.until,
           .thread = core,
           .label = fmt::format("core {}: {}", core, name_of_stall(stall.cause)),
           .detail = std::string(kCauseTexts[stall.cause].description),
           .stages = {{name_of_stall(stall.cause), kStalls, stall.from, stall.until}}});
}

void KanataTimeline::add_fence(const StageEvent& event) {
  Core& own = core(event.unit);
  std::optional<Stall> stall = std::exchange(own.stall, {});
  if (stall && (stall->from < event.at[1] || stall->until > event.at[2])) {
    add_stall_row(event.unit, *std::exchange(stall, {}));
  }
  if (!shown_.overlap(event.at[0], event.at[2])) return;
  Row row{.begin = event.at[0],
          .end = event.at[2],
          .thread = event.unit,
          .label = fmt::format("core {}: fence", event.unit),
          .detail = sources_.of(event.part),
          .stages = {{"Sq", kStages, event.at[0], event.at[1]},
                     {"Hd", kStages, event.at[1], event.at[2]}}};
  if (stall)
    row.stages.push_back({name_of_stall(stall->cause), kStalls, stall->from, stall->until});
  own.fences.emplace_back(event.at[2], add_row(std::move(row)));
}

void KanataTimeline::add_persist(const Persist& write) {
  if (!shown_.overlap(write.begin(), write.end)) return;
  Row row{.begin = write.begin(),
          .end = write.end,
          .thread = write.core.value_or(0),
          .flushed = write.fate == Persist::Fate::kMerged || write.fate == Persist::Fate::kDropped,
          .label = fmt::format("{}: {} {:#x}",
                               write.core ? fmt::format("core {}", *write.core) : "backend",
                               write.name(), write.line.address()),
          .detail = std::string(fate_text(write.fate))};
  if (write.region != 0) row.detail += fmt::format("; region {}", write.region);
  if (write.kind == WriteKind::kLog) {
    row.detail += fmt::format("; of line {:#x}", write.home.address());
  }
  if (write.origin) {
    row.detail += fmt::format("; {} at {}", write.origin->flush ? "flush" : "store",
                              sources_.of(write.origin->site));
  }
  const auto stage = [&](const char* name, std::uint8_t lane, Time from, Time until) {
    if (from != kNever && until > from) row.stages.push_back({name, lane, from, until});
  };
  const Time sent = min(min(write.issued, write.arrived), write.end);
  if (write.origin) {
    if (write.origin->flush) {
      stage("Sq", kStages, write.origin->retired, write.origin->head);
      stage("Hd", kStages, write.origin->head, write.origin->left);
    }
    stage("Ca", kStages, write.origin->left, sent);
  }
  const Time queued = min(write.arrived, write.end);
  stage("Op", kStages, sent, queued);
  stage("Ar", kStages, queued, min(write.accepted, write.end));
  stage("full", kStalls, queued, min(write.accepted, write.end));
  stage("Wq", kStages, write.accepted, min(write.started, write.end));
  stage("Bk", kStages, write.started, write.finished);
  const std::size_t number = add_row(std::move(row));
  if (write.core) {
    const Time left = write.origin ? write.origin->left : write.begin();
    core(*write.core).persists.emplace_back(left, number);
  }
  if (write.kind == WriteKind::kLog) {
    log_rows_[write.home.number] = number;
  } else if (write.kind == WriteKind::kData) {
    const auto log = log_rows_.find(write.line.number);
    if (log == log_rows_.end()) return;
    rows_[number].producers.push_back(log->second);
    log_rows_.erase(log);
  }
}

void KanataTimeline::add_refresh(const StageEvent& event) {
  if (!shown_.overlap(event.at[0], event.at[1])) return;
  add_row({.begin = event.at[0],
           .end = event.at[1],
           .label = fmt::format("channel {}: refresh", event.unit),
           .detail = "all banks of the channel are busy",
           .stages = {{"refresh", kStalls, event.at[0], event.at[1]}}});
}

// Implements the arrows of fences (rule 3, kanata_timeline.hpp). A persist that left the store
// queue before a fence did belongs to it.
void KanataTimeline::connect() {
  for (Core& each : cores_) {
    std::ranges::sort(each.persists);
    std::size_t next = 0;
    for (std::size_t fence = 0; fence <= each.fences.size(); ++fence) {
      const bool last = fence == each.fences.size();
      const Time left = last ? kNever : each.fences[fence].first;
      for (; next < each.persists.size() && each.persists[next].first <= left; ++next) {
        const std::size_t persist = each.persists[next].second;
        if (fence > 0) rows_[persist].producers.push_back(each.fences[fence - 1].second);
        if (!last) rows_[each.fences[fence].second].producers.push_back(persist);
      }
    }
  }
}

std::uint64_t KanataTimeline::cycle(Time when) const {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;
  return static_cast<std::uint64_t>(Wide{static_cast<std::uint64_t>(when.count)} *
                                    frequency_.count / kPicosecondsPerSecond);
}

// Returns the position of each row in the order of begins.
std::vector<std::size_t> KanataTimeline::in_order() const {
  std::vector<std::size_t> order(rows_.size()), positions(rows_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [this](std::size_t row) { return std::pair(cycle(rows_[row].begin), row); });
  for (std::size_t i = 0; i < order.size(); ++i) positions[order[i]] = i;
  return positions;
}

// Returns the commands in the order of the file.
std::vector<KanataTimeline::Command> KanataTimeline::commands(
    const std::vector<std::size_t>& positions) {
  std::vector<Command> all;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const std::size_t at = positions[i];
    all.push_back({cycle(row.begin), Command::kBegin, at});
    for (std::size_t stage = 0; stage < row.stages.size(); ++stage) {
      const std::uint64_t from = cycle(row.stages[stage].from);
      const std::uint64_t until = cycle(row.stages[stage].until);
      if (from == until) continue;
      all.push_back({from, Command::kBeginStage, at, stage});
      all.push_back({until, Command::kEndStage, at, stage});
    }
    for (const std::size_t producer : row.producers) {
      all.push_back({cycle(row.end), Command::kArrow, at, positions[producer]});
    }
    arrows_ += row.producers.size();
    all.push_back({cycle(row.end), Command::kRetire, at});
  }
  std::ranges::sort(all);
  return all;
}

std::string KanataTimeline::text_of(const Command& command, const Row& row) {
  switch (command.kind) {
    case Command::kBegin:
      return fmt::format("I\t{0}\t{0}\t{1}\nL\t{0}\t0\t{2}\nL\t{0}\t1\t{3}\n", command.row,
                         row.thread, row.label, row.detail);
    case Command::kBeginStage:
    case Command::kEndStage: {
      const RowStage& stage = row.stages[command.other];
      return fmt::format("{}\t{}\t{}\t{}\n", command.kind == Command::kBeginStage ? 'S' : 'E',
                         command.row, stage.lane, stage.name);
    }
    case Command::kArrow:
      return fmt::format("W\t{}\t{}\t0\n", command.row, command.other);
    case Command::kRetire:
      return fmt::format("R\t{0}\t{0}\t{1}\n", command.row, row.flushed ? 1 : 0);
  }
  return {};
}

void KanataTimeline::write(const std::string& path) {
  for (std::uint32_t number = 0; number < cores_.size(); ++number) {
    if (cores_[number].stall) add_stall_row(number, *std::exchange(cores_[number].stall, {}));
  }
  connect();
  const std::vector<std::size_t> positions = in_order();
  std::vector<std::size_t> row_at(rows_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) row_at[positions[row]] = row;
  OutputFile file(path);
  std::uint64_t now = 0;
  bool first = true;
  file.write("Kanata\t0004\n");
  for (const Command& command : commands(positions)) {
    if (first || command.cycle > now) {
      file.write(fmt::format("{}\t{}\n", first ? "C=" : "C", command.cycle - now));
    }
    first = false;
    now = command.cycle;
    file.write(text_of(command, rows_[row_at[command.row]]));
  }
  file.close();
}

}  // namespace pmemsim
