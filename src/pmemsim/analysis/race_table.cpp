#include "pmemsim/analysis/race_table.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace pmemsim::trace {
namespace {

RaceWaits waits_in_table(const TraceFile& trace, const FrameEntry& first) {
  const std::vector<std::byte> table = trace.read_table(FrameKind::kRaces);
  RacesHeader header{.races = UINT64_MAX};
  if (table.size() >= sizeof(header)) std::memcpy(&header, table.data(), sizeof(header));
  const std::size_t records = (table.size() - sizeof(header)) / sizeof(RaceRecord);
  if (header.races != records || table.size() != sizeof(header) + records * sizeof(RaceRecord)) {
    trace.fail(first.offset, "the length of the race table contradicts its header");
  }
  const std::uint32_t threads = trace.metadata().threads;
  std::vector<std::uint64_t> operations;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    operations.push_back(trace.operations(thread));
  }
  RaceWaits waits(threads);
  for (std::uint64_t i = 0; i < header.races; ++i) {
    RaceRecord race{};
    std::memcpy(&race, table.data() + sizeof(header) + i * sizeof(race), sizeof(race));
    if (race.thread >= threads || race.other >= threads || race.thread == race.other ||
        race.number >= operations[race.thread] || race.count == 0 ||
        race.count > operations[race.other] ||
        (!waits[race.thread].empty() && race.number < waits[race.thread].back().number)) {
      trace.fail(first.offset, fmt::format("race {} is impossible", i));
    }
    waits[race.thread].push_back(
        {.number = race.number, .count = race.count, .thread = race.other, .version = 0});
  }
  return waits;
}

}  // namespace

std::optional<RaceWaits> stored_races(const TraceFile& trace) {
  const FrameEntry* table = trace.first_frame(FrameKind::kRaces);
  if (table == nullptr) return std::nullopt;
  return waits_in_table(trace, *table);
}

std::vector<std::byte> race_table(std::span<const std::vector<RaceWait>> waits) {
  std::vector<std::byte> table(sizeof(RacesHeader));
  RacesHeader header{};
  for (std::uint32_t thread = 0; thread < waits.size(); ++thread) {
    for (const RaceWait& wait : waits[thread]) {
      const RaceRecord race{wait.number, wait.count, thread, wait.thread};
      const auto bytes = std::as_bytes(std::span(&race, 1));
      table.insert(table.end(), bytes.begin(), bytes.end());
      ++header.races;
    }
  }
  std::memcpy(table.data(), &header, sizeof(header));
  return table;
}

}  // namespace pmemsim::trace
