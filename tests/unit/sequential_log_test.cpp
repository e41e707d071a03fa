// Log records one after the other: the rules of designs/atomicity/sequential_log.hpp.
#include "pmemsim/designs/atomicity/sequential_log.hpp"
#include "pmemsim/designs/backend/backend.hpp"

#include <gtest/gtest.h>

#include "memory_bench.hpp"
#include "pmemsim/designs/atomicity/hardware_log_parameters.hpp"

namespace pmemsim {
namespace {

TEST(SequentialLog, FullRingGrows) {  // rules 2 and 3
  SequentialLog log(0, 3 * kRecordLines * kLineBytes);
  const std::uint64_t first = log.first().number;
  const Line record = log.allocate();
  EXPECT_EQ(record.number, first);
  log.free(record);
  EXPECT_EQ(log.allocate().number, first + 8);
  EXPECT_EQ(log.allocate().number, first + 16);
  EXPECT_EQ(log.allocate().number, first);
  EXPECT_EQ(log.growths(), 0u);
  EXPECT_EQ(log.allocate().number, first + 24) << "what is in use stays";
  EXPECT_EQ(log.growths(), 1u);
}

TEST(SequentialLog, UsesRecordsInTheOrderInWhichTheyAreFreed) {  // rule 2
  SequentialLog log(0, 3 * kRecordLines * kLineBytes);
  const Line records[] = {log.allocate(), log.allocate(), log.allocate()};
  for (const std::size_t number : {1u, 2u, 0u}) log.free(records[number]);
  for (const std::size_t number : {1u, 2u, 0u}) {
    EXPECT_EQ(log.next(), records[number]);
    EXPECT_EQ(log.allocate(), records[number]);
  }
}

struct SpaceBench : MemoryBench {
  // Two records of each of two cores.
  explicit SpaceBench(std::uint32_t rings)
      : MemoryBench(simple_memory()),
        backend(queue, memory, {}, ns(0)),
        space(backend, 2, rings, {2 * kRecordLines * kLineBytes}) {}
  std::uint64_t record_of(CoreId core) { return space.begin_record(core)->first.number; }

  const Backend backend;
  SequentialSpace space;
};

TEST(SequentialSpace, RecordIsAHeaderAndTheSevenLinesAfterIt) {  // rule 1
  SpaceBench bench(2);
  const std::optional<HeaderPlace> record = bench.space.begin_record(0);
  EXPECT_EQ(header_lines(LogAllocation::kSequential), 1u);
  EXPECT_EQ(record->second, record->first);
  for (std::uint32_t entry = 0; entry < kRecordEntries; ++entry) {
    EXPECT_EQ(bench.space.entry(record, entry).number, record->first.number + 1 + entry);
  }
  EXPECT_EQ(bench.record_of(0), record->first.number + 8);
}

TEST(SequentialSpace, RingsArePerCoreOrShared) {  // rules 2 to 4
  SpaceBench own(2), shared(1);
  const std::uint64_t first = own.record_of(0);
  EXPECT_GT(own.record_of(1), first + (std::uint64_t{1} << 34)) << "lines: far away";
  EXPECT_EQ(own.record_of(0), first + 8);
  EXPECT_EQ(own.record_of(0), first + 16) << "it has grown";
  EXPECT_EQ(own.space.growths(), 1u);
  for (std::uint64_t record = 0; record < 4; ++record) {
    EXPECT_EQ(shared.record_of(record % 2), first + 8 * record);
  }
  EXPECT_EQ(shared.space.growths(), 0u);
  for (SpaceBench* const bench : {&own, &shared}) EXPECT_EQ(bench->space.initial_records(), 4u);

  LogSurvivors of_own, of_shared;
  own.space.survive(of_own);
  shared.space.survive(of_shared);
  ASSERT_EQ(of_own.rings.size(), 2u);
  ASSERT_EQ(of_shared.rings.size(), 1u);
  EXPECT_EQ(of_own.rings[0].lines, 4 * kRecordLines);
  EXPECT_EQ(of_own.rings[1].lines, 2 * kRecordLines);
  EXPECT_EQ(of_shared.rings[0].lines, 4 * kRecordLines);
}

}  // namespace
}  // namespace pmemsim
