// The log of stages: it keeps all events in order, in memory and in its file.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "memory_bench.hpp"
#include "pmemsim/common/error.hpp"
#include "pmemsim/common/stage_log.hpp"

namespace pmemsim {
namespace {

std::vector<std::uint64_t> ids(const StageLog& log) {
  std::vector<std::uint64_t> found;
  log.for_each([&](const StageEvent& event) { found.push_back(event.id); });
  return found;
}

void add(StageLog& log, std::uint64_t count) {
  for (std::uint64_t id = log.size(); count > 0; --count) {
    log.add({.stage = Stage::kDrop, .id = id++, .at = {}});
  }
}

TEST(StageLog, EventsInMemoryKeepTheirOrder) {
  const EventQueue queue{};
  StageLog log(queue, "/nowhere");
  add(log, 3);
  EXPECT_EQ(ids(log), (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(StageLog, EventsInTheFileKeepTheirOrderAndTheFolderStaysEmpty) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "stage_log";
  std::filesystem::create_directories(folder);
  const EventQueue queue{};
  StageLog log(queue, folder.string());
  add(log, 100'000);
  const std::vector<std::uint64_t> found = ids(log);
  ASSERT_EQ(found.size(), 100'000u);
  for (std::uint64_t id = 0; id < found.size(); ++id) ASSERT_EQ(found[id], id);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(StageLog, FolderThatDoesNotExistIsNamedInTheError) {
  const EventQueue queue{};
  StageLog log(queue, "/nowhere");
  try {
    add(log, 100'000);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("/nowhere: ")) << error.what();
  }
}

// ---- The stages of requests to a memory

std::vector<StageEvent> of(const StageLog& log, Stage stage) {
  std::vector<StageEvent> found;
  log.for_each([&](const StageEvent& event) {
    if (event.stage == stage) found.push_back(event);
  });
  return found;
}

using FourTimes = std::array<Time, 4>;

TEST(MemoryStages, WriteOccupiesItsBankForActivateColumnBurstAndRecovery) {
  MemoryBench bench(simple_memory());
  StageLog log(bench.queue, "/nowhere");
  bench.memory.log_stages(&log);
  bench.run_until(at_ns(7));
  bench.write(1, line_in(2, 0));
  bench.run_until(at_ns(50));
  bench.drain();
  const std::vector<StageEvent> writes = of(log, Stage::kWrite);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].at,
            (FourTimes{at_ns(7), at_ns(7), at_ns(50), at_ns(50 + 10 + 15 + 5 + 100)}));
  EXPECT_EQ(writes[0].part, 2u);
  EXPECT_EQ(writes[0].line, line_in(2, 0));
  EXPECT_FALSE(writes[0].flag);
  EXPECT_EQ(bench.written_at[1], std::vector<Time>{writes[0].at[3]});
}

TEST(MemoryStages, WriteWaitsForAnEntryUntilTheWpqHasOne) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 1;
  MemoryBench bench(p);
  StageLog log(bench.queue, "/nowhere");
  bench.memory.log_stages(&log);
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(1, 0));
  bench.drain();
  const std::vector<StageEvent> writes = of(log, Stage::kWrite);
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes[1].at[0], at_ns(0));
  EXPECT_EQ(writes[1].at[1], writes[0].at[2]);  // the first one has left the queue
}

TEST(MemoryStages, OccupancyCountsEachEntry) {
  MemoryBench bench(simple_memory());
  StageLog log(bench.queue, "/nowhere");
  bench.memory.log_stages(&log);
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(1, 0));
  bench.drain();
  std::vector<std::uint64_t> entries;
  for (const StageEvent& event : of(log, Stage::kOccupancy)) entries.push_back(event.id);
  EXPECT_EQ(entries, (std::vector<std::uint64_t>{1, 2, 1, 0}));
}

TEST(MemoryStages, ReadHasTheTimesOfItsBank) {
  MemoryBench bench(simple_memory());
  StageLog log(bench.queue, "/nowhere");
  bench.memory.log_stages(&log);
  bench.read(1, line_in(0, 0));
  bench.run();
  const std::vector<StageEvent> reads = of(log, Stage::kRead);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].at, (FourTimes{at_ns(0), at_ns(0), at_ns(35), at_ns(35)}));
}

TEST(MemoryStages, DropAndMergeAreLogged) {
  MemoryBench bench(simple_memory());
  StageLog log(bench.queue, "/nowhere");
  bench.memory.log_stages(&log);
  bench.run_until(at_ns(5));
  const WriteId first = bench.write(1, line_in(0, 0));
  bench.run_until(at_ns(9));
  bench.write(2, line_in(0, 0));
  EXPECT_EQ(of(log, Stage::kMerge).size(), 1u);
  bench.run_until(at_ns(12));
  bench.memory.drop(first);
  const std::vector<StageEvent> drops = of(log, Stage::kDrop);
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_EQ(drops[0].at[0], at_ns(12));
  EXPECT_EQ(drops[0].at[1], at_ns(5));
}

}  // namespace
}  // namespace pmemsim
