#include "pmemsim/timeline/persists.hpp"

#include <array>
#include <ranges>

#include "pmemsim/designs/interface/region_id.hpp"

namespace pmemsim {
namespace {

constexpr std::array<std::string_view, kWriteKinds> kNames{"data", "log", "log header", "metadata"};

Persist::Origin to_origin(const StageEvent& event) {
  return {.core = event.unit,
          .region = event.id,
          .site = event.part,
          .purpose = static_cast<trace::Purpose>(event.detail),
          .flush = event.stage == Stage::kFlush,
          .retired = event.at[0],
          .head = event.at[1],
          .left = event.at[2]};
}

}  // namespace

std::string_view Persist::name() const {
  if (kind != WriteKind::kData || !origin) return kNames[static_cast<std::size_t>(kind)];
  switch (origin->purpose) {
    case trace::Purpose::kLog:
      return "software log";
    case trace::Purpose::kCommit:
    case trace::Purpose::kRelease:
      return "software commit";
    case trace::Purpose::kProgram:
    case trace::Purpose::kDataFlush:
      break;
  }
  return "data";
}

std::optional<Persist> PersistTracker::add(const StageEvent& event) {
  switch (event.stage) {
    case Stage::kFlush:
    case Stage::kStore:
      add_origin(event);
      return {};
    case Stage::kIssue:
      issue(event);
      return {};
    case Stage::kEncode:
      if (event.flag) return end(event.id, Persist::Fate::kDuplicate, event.at[0]);
      if (const auto found = open_.find(event.id); found != open_.end()) {
        found->second.encoded = event.at[0];
      }
      return {};
    case Stage::kMerge:
    case Stage::kDrop:
      return end_early(event);
    case Stage::kWrite:
      return write(event);
    default:
      return {};
  }
}

void PersistTracker::add_origin(const StageEvent& event) {
  std::vector<Persist::Origin>& recent = origins_[event.line.number];
  if (recent.size() == kMostOrigins) recent.erase(recent.begin());
  recent.push_back(to_origin(event));
}

// Implements rule 1 (persists.hpp).
std::optional<Persist::Origin> PersistTracker::origin_of(Line line, Time issued) {
  const auto found = origins_.find(line.number);
  if (found == origins_.end()) return {};
  std::optional<Persist::Origin> store;
  for (Persist::Origin& origin : found->second | std::views::reverse) {
    if (origin.left > issued || origin.used) continue;
    if (origin.flush) {
      origin.used = true;
      return origin;
    }
    if (!store) store = origin;
  }
  return store;
}

// Implements rule 2 (persists.hpp).
void PersistTracker::issue(const StageEvent& event) {
  Persist& write = open_[event.id];
  write.id = event.id;
  write.kind = static_cast<WriteKind>(event.detail);
  write.line = event.line;
  write.home = {event.logged_line};
  write.issued = event.at[0];
  if (write.kind == WriteKind::kData) {
    write.origin = origin_of(event.line, write.issued);
    if (!write.origin) return;
    write.core = write.origin->core;
    write.region = write.origin->region;
  } else if (const std::uint64_t owner = std::uint64_t{event.unit} << 32 | event.part; owner != 0) {
    write.core = core_of(owner);
    write.region = region_number(owner);
  }
}

std::optional<Persist> PersistTracker::end(std::uint64_t id, Persist::Fate fate, Time when) {
  const auto found = open_.find(id);
  if (found == open_.end()) return {};
  Persist write = std::move(found->second);
  open_.erase(found);
  write.fate = fate;
  write.end = when;
  return write;
}

std::optional<Persist> PersistTracker::end_early(const StageEvent& event) {
  const bool drop = event.stage == Stage::kDrop;
  std::optional<Persist> write =
      end(event.id, drop ? Persist::Fate::kDropped : Persist::Fate::kMerged, event.at[0]);
  if (write && event.flag) {
    write->arrived = write->encoded == kNever ? write->issued : write->encoded;
    if (drop) {
      write->accepted = event.at[1];
      write->persistent = event.at[2];
    }
  }
  return write;
}

std::optional<Persist> PersistTracker::write(const StageEvent& event) {
  std::optional<Persist> written = end(event.id, Persist::Fate::kWritten, event.at[3]);
  if (!written) {  // rule 3
    written.emplace();
    written->kind = static_cast<WriteKind>(event.detail);
    written->line = event.line;
    written->end = event.at[3];
  }
  written->channel = event.unit;
  written->bank = event.part;
  written->arrived = event.at[0];
  written->accepted = event.at[1];
  written->started = event.at[2];
  written->finished = event.at[3];
  written->persistent = event.flag ? event.at[3] : event.at[1];
  return written;
}

}  // namespace pmemsim
