// The write pending queue and the log queue: acceptance, reservations, merging, forwarding,
// dropping and draining.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <numeric>

#include "memory_bench.hpp"

#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {
namespace {

using Times = std::vector<Time>;

// Records notifications in order: +n persisted, -n dropped; n is the first word of the data.
class Diary : public PersistenceObserver {
 public:
  void persisted(const Write& write, PersistencePoint, Time) override {
    entries.push_back(static_cast<std::int64_t>(value_of(write.data)));
  }
  void persisted_with_next(const Write&) override {}
  void dropped(const Write& write, Time) override {
    entries.push_back(-static_cast<std::int64_t>(value_of(write.data)));
  }
  std::vector<std::int64_t> entries;
};

// Reads the surviving data of a dropped write's line when the drop is reported.
class LeftAfterDrop : public PersistenceObserver {
 public:
  explicit LeftAfterDrop(const Memory& memory) : memory_(memory) {}
  void persisted(const Write&, PersistencePoint, Time) override {}
  void persisted_with_next(const Write&) override {}
  void dropped(const Write& write, Time) override {
    left.push_back(value_of(memory_.surviving(write.line)));
  }
  std::vector<std::uint64_t> left;

 private:
  const Memory& memory_;
};

std::vector<std::uint64_t> accepted(const Memory& memory) {
  std::vector<std::uint64_t> values;
  memory.for_each_accepted(
      [](void* context, const Write& write) {
        static_cast<std::vector<std::uint64_t>*>(context)->push_back(value_of(write.data));
      },
      &values);
  return values;
}

std::uint64_t on_device(const MemoryBench& bench, Line line) {
  return value_of(bench.memory.device().read(line));
}

// Writes wait at 8 entries: more than 4 are written when idle, more than 6 even before reads.
TEST(MemoryQueue, AcceptedWriteIsPersistentAndStaysInTheQueue) {
  MemoryParameters p = simple_memory();
  p.front_latency = ns(10);
  MemoryBench bench(p);
  Diary diary;
  bench.memory.observe(&diary);
  bench.write(7, line_in(0, 0));
  EXPECT_EQ(diary.entries, (std::vector<std::int64_t>{7}));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{7}));
  bench.run();
  EXPECT_EQ(bench.persisted_at[7], Times{at_ns(10)});
  EXPECT_FALSE(bench.written_at.count(7));
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 0u);
  EXPECT_FALSE(bench.memory.idle());
  EXPECT_EQ(bench.memory.describe_pending(),
            "channel 0: 0 reads (0 wait for a bank), 1 writes (1 in the WPQ of 8 entries)");

  bench.drain();
  EXPECT_EQ(bench.written_at[7].size(), 1u);
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 7u);
  EXPECT_TRUE(bench.memory.idle());
  EXPECT_TRUE(accepted(bench.memory).empty());
  EXPECT_EQ(bench.memory.describe_pending(), "");
}

TEST(MemoryQueue, PersistenceWrittenStartsAWriteAtOnceAndPersistsItWhenWritten) {
  MemoryParameters p = simple_memory();
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  Diary diary;
  bench.memory.observe(&diary);
  bench.write(1, line_in(0, 0));
  EXPECT_TRUE(diary.entries.empty());
  EXPECT_TRUE(accepted(bench.memory).empty());
  bench.run_until(at_ns(129));
  EXPECT_TRUE(bench.persisted_at.empty());
  bench.run_until(at_ns(130));
  EXPECT_EQ(bench.persisted_at[1], Times{at_ns(130)});
  EXPECT_EQ(bench.written_at[1], Times{at_ns(130)});
  EXPECT_EQ(diary.entries, (std::vector<std::int64_t>{1}));
}

TEST(MemoryQueue, OccupancyAddsUpTheTimesOfAllEntries) {
  MemoryBench bench(simple_memory());
  bench.write(1, line_in(0, 0));
  bench.run_until(at_ns(40));
  bench.write(2, line_in(1, 0));
  bench.run_until(at_ns(100));
  bench.write(3, line_in(2, 0));
  // So few writes stay in the queue: one for 100 ns, one for 60 ns, one since now.
  const MemoryStatistics statistics = bench.memory.statistics();
  EXPECT_EQ(statistics.wpq_entry_time, ns(160));
  EXPECT_EQ(statistics.most_wpq_entries, 3u);
  EXPECT_EQ(statistics.channel_time, ns(100));
  bench.drain();
  EXPECT_GT(bench.memory.statistics().wpq_entry_time, ns(160));
  EXPECT_EQ(bench.memory.statistics().most_wpq_entries, 3u);
}

TEST(MemoryQueue, LogQueueWritesAtOnceAndPersistsWhenWritten) {
  MemoryParameters p = simple_memory();
  p.log_queue_entries = 2;
  MemoryBench bench(p);
  Diary diary;
  bench.memory.observe(&diary);
  bench.write(1, line_in(0, 0), WriteKind::kLog);
  bench.write(2, line_in(1, 0), WriteKind::kLogHeader);
  bench.write(3, line_in(2, 0), WriteKind::kData);
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(bench.memory.describe_pending(),
            "channel 0: 0 reads (0 wait for a bank), 3 writes (1 in the WPQ of 8 entries; 2 in the "
            "log queue of 2)");
  bench.run();
  EXPECT_EQ(bench.persisted_at[1], Times{at_ns(130)});
  EXPECT_EQ(bench.written_at[1], Times{at_ns(130)});
  EXPECT_EQ(bench.persisted_at[2], bench.written_at[2]);
  EXPECT_EQ(bench.persisted_at[3], Times{at_ns(0)});
  // No write waits until the WPQ's entry is written, because the WPQ has room for others.
  EXPECT_FALSE(bench.written_at.count(3));
  EXPECT_EQ(diary.entries, (std::vector<std::int64_t>{3, 1, 2}));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{3}));
}

TEST(MemoryQueue, FullLogQueueDelaysOnlyLogWrites) {
  MemoryParameters p = simple_memory();
  p.log_queue_entries = 1;
  MemoryBench bench(p);
  for (std::uint64_t i = 1; i <= 3; ++i) bench.write(i, line_in(0, i), WriteKind::kLog);
  bench.write(4, line_in(1, 0));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{4}));
  bench.run();
  // The writes take place one after the other, because each needs its bank precharged for another
  // row.
  EXPECT_EQ(bench.persisted_at[1], Times{at_ns(130)});
  EXPECT_EQ(bench.persisted_at[2], Times{at_ns(130 + 30 + 130)});
  EXPECT_EQ(bench.persisted_at[3], Times{at_ns(2 * (130 + 30) + 130)});
  EXPECT_EQ(bench.memory.statistics().log_queue_full_time, ns(2 * (130 + 30)));
  EXPECT_EQ(bench.memory.statistics().wpq_full_time, ns(0));
}

TEST(MemoryStatistics, ChannelsAreSummedExceptBurstTimeAndLargestNumbers) {
  std::array<std::int64_t, sizeof(MemoryStatistics) / sizeof(std::int64_t)> numbers{};
  std::iota(numbers.begin(), numbers.end(), 1);
  const auto channel = std::bit_cast<MemoryStatistics>(numbers);
  MemoryStatistics both = channel;
  both += channel;
  auto doubled = numbers;
  for (std::int64_t& number : doubled) number *= 2;
  auto expected = std::bit_cast<MemoryStatistics>(doubled);
  expected.burst = channel.burst;
  expected.most_line_writes = channel.most_line_writes;
  expected.most_wpq_entries = channel.most_wpq_entries;
  expected.most_line_writes = channel.most_line_writes;
  EXPECT_EQ(std::bit_cast<decltype(numbers)>(both), std::bit_cast<decltype(numbers)>(expected));
}

TEST(MemoryQueue, FullWpqDoesNotDelayWritesToTheLogQueue) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 1;
  p.log_queue_entries = 1;
  MemoryBench bench(p);
  for (std::uint64_t i = 1; i <= 3; ++i) bench.write(i, line_in(0, i));
  bench.write(4, line_in(1, 0), WriteKind::kLog);
  bench.run();
  // The write starts one tRRD after the first: the two writes that wait for the WPQ don't count.
  EXPECT_EQ(bench.persisted_at[4], Times{at_ns(2 + 130 + 3)});
  EXPECT_EQ(bench.persisted_at[3], Times{at_ns(130 + 30)});
}

TEST(MemoryQueue, ReservationsNeverTakeTheLastEntry) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 3;
  MemoryBench bench(p);
  EXPECT_TRUE(bench.memory.reserve(0));
  EXPECT_TRUE(bench.memory.reserve(0));
  EXPECT_FALSE(bench.memory.reserve(0));  // so that others always get on
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 1));  // waits
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(
      bench.memory.describe_pending(),
      "channel 0: 0 reads (0 wait for a bank), 2 writes (1 in the WPQ of 3 entries, 2 of them "
      "reserved)");
  bench.memory.release(0);
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(bench.memory.reserve(0));  // full
  bench.write_reserved(3, line_in(1, 0));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1, 2, 3}));
  bench.drain();
  EXPECT_EQ(on_device(bench, line_in(1, 0)), 3u);
  EXPECT_EQ(bench.persisted_at[3], Times{at_ns(0)});
  EXPECT_EQ(bench.written_at[3].size(), 1u);
  EXPECT_TRUE(bench.memory.reserve(0));
  EXPECT_TRUE(bench.memory.reserve(0));
}

TEST(MemoryQueue, ReleasedEntryGoesToAWaitingWriteBeforeANewReservation) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 1));
  bench.memory.release(0);
  EXPECT_FALSE(bench.memory.reserve(0));  // the second write has taken it
  bench.run();
  EXPECT_TRUE(bench.memory.reserve(0));
}

TEST(MemoryQueue, ReservedEntriesCountAsOccupied) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 1));
  bench.run();
  // The second write has the only other entry until its bank has been precharged.
  EXPECT_EQ(bench.memory.statistics().wpq_full_time, ns(130 + 30));
}

TEST(MemoryQueue, ReservationAboveTheLowWatermarkStartsWrites) {
  MemoryBench bench(simple_memory());  // low watermark 4
  for (std::uint64_t i = 0; i < 3; ++i) bench.write(i, line_in(i, 0));
  bench.run();
  EXPECT_TRUE(bench.written_at.empty());
  EXPECT_TRUE(bench.memory.reserve(0));
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.run();
  EXPECT_EQ(bench.written_at.size(), 3u);
}

TEST(MemoryQueue, ReservedWriteOvertakesAndMergesOlderWritesOfItsLine) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  Diary diary;
  bench.memory.observe(&diary);
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 1), WriteKind::kMetadata);
  bench.write(3, line_in(1, 0));
  bench.write_reserved(4, line_in(0, 1));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1, 4}));
  EXPECT_EQ(diary.entries, (std::vector<std::int64_t>{1, 4}));
  bench.drain();
  EXPECT_EQ(on_device(bench, line_in(0, 1)), 4u);
  EXPECT_EQ(on_device(bench, line_in(1, 0)), 3u);
  EXPECT_EQ(bench.persisted_at[2], Times{at_ns(0)});
  EXPECT_EQ(bench.written_at[2], bench.written_at[4]);
  EXPECT_EQ(bench.memory.statistics().writes_merged, 1u);
}

TEST(MemoryQueue, MergingReservedWriteReleasesItsEntry) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 0), WriteKind::kData, 7);  // waits
  bench.write_reserved(3, line_in(0, 0));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{3}));
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.drain();
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 3u);
  EXPECT_EQ(bench.persisted_at[2].size(), 1u);
}

TEST(MemoryQueue, ReservedLogHeaderEntersTheWpqDespiteALogQueue) {
  MemoryParameters p = simple_memory();
  p.log_queue_entries = 4;
  MemoryBench bench(p);
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.write_reserved(1, line_in(0, 0), WriteKind::kLogHeader);
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1}));
}

TEST(MemoryQueue, WritesThatWaitForAFullQueueAreAcceptedInOrder) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  for (std::uint64_t i = 0; i < 4; ++i) bench.write(i, line_in(0, i));
  bench.drain();
  EXPECT_EQ(bench.persisted_at[0], Times{at_ns(0)});
  EXPECT_EQ(bench.persisted_at[1], Times{at_ns(0)});
  // The first leaves the queue at once; the second when its bank has been precharged.
  EXPECT_EQ(bench.persisted_at[2], Times{at_ns(0)});
  EXPECT_EQ(bench.persisted_at[3], Times{at_ns(130 + 30)});
  const MemoryStatistics statistics = bench.memory.statistics();
  EXPECT_EQ(statistics.acceptance_time, ns(160));
  EXPECT_EQ(statistics.wpq_full_time, ns(160 + 160));  // until the third has gone to the bank
}

TEST(MemoryQueue, WritesOfOneLineKindAndOwnerMerge) {
  MemoryBench bench(simple_memory());
  Diary diary;
  bench.memory.observe(&diary);
  const WriteId first = bench.write(1, line_in(0, 0));
  const WriteId second = bench.write(2, line_in(0, 0));
  EXPECT_EQ(first, second);
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(diary.entries, (std::vector<std::int64_t>{1, 2}));
  bench.drain();
  EXPECT_EQ(bench.persisted_at[2], Times{at_ns(0)});
  EXPECT_EQ(bench.written_at[1], Times{at_ns(130)});
  EXPECT_EQ(bench.written_at[2], Times{at_ns(130)});
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 2u);
  EXPECT_EQ(bench.memory.statistics().writes_merged, 1u);
  EXPECT_EQ(bench.memory.statistics().all_lines_written(), 1u);
}

TEST(MemoryQueue, WithoutMergingEachWriteHasItsEntry) {
  MemoryParameters p = simple_memory();
  p.write_merging = false;
  MemoryBench bench(p);
  const WriteId first = bench.write(1, line_in(0, 0));
  EXPECT_NE(first, bench.write(2, line_in(0, 0)));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1, 2}));
  bench.drain();
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 2u);
  EXPECT_LT(bench.written_at[1], bench.written_at[2]);
  EXPECT_EQ(bench.memory.statistics().writes_merged, 0u);
  EXPECT_EQ(bench.memory.statistics().all_lines_written(), 2u);
}

TEST(MemoryQueue, WritesOfDifferentKindOrOwnerDoNotMerge) {
  MemoryBench bench(simple_memory());
  bench.write(1, line_in(0, 0), WriteKind::kData, 5);
  bench.write(2, line_in(0, 0), WriteKind::kData, 6);
  bench.write(3, line_in(0, 0), WriteKind::kLog, 6);
  // Merging with the first would let the older data of the second and third overwrite it.
  bench.write(4, line_in(0, 0), WriteKind::kData, 5);
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  bench.drain();
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 4u);
  EXPECT_EQ(bench.memory.statistics().writes_merged, 0u);
}

TEST(MemoryQueue, WriteInProgressAtABankDoesNotMerge) {
  MemoryParameters p = simple_memory();
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  bench.write(1, line_in(0, 0));
  bench.run_until(at_ns(1));
  bench.write(2, line_in(0, 0));
  bench.run();
  EXPECT_EQ(bench.memory.statistics().writes_merged, 0u);
  EXPECT_EQ(bench.memory.statistics().all_lines_written(), 2u);
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 2u);
}

TEST(MemoryQueue, MergedWritesPersistTogetherWithPersistenceWritten) {
  MemoryParameters p = simple_memory();
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 0));
  bench.run();
  EXPECT_EQ(bench.persisted_at[1], Times{at_ns(130)});
  EXPECT_EQ(bench.persisted_at[2], Times{at_ns(130)});
}

TEST(MemoryQueue, WaitingWriteMergesWhenTheQueueAcceptsIt) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  bench.write(0, line_in(1, 0));
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 1));  // write 2 waits, because the queue is full
  const WriteId waiting = bench.write(3, line_in(0, 0));  // write 3 waits behind write 2
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_NE(bench.memory.pending(waiting), nullptr);
  bench.run_until(at_ns(0));
  // The write to bank 1 has gone, the second took its place, the third merged into bank 0's.
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{0, 3, 2}));
  EXPECT_EQ(bench.memory.pending(waiting), nullptr);
  EXPECT_FALSE(bench.memory.drop(waiting));
  bench.drain();
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 3u);
  EXPECT_EQ(bench.persisted_at[3].size(), 1u);
  EXPECT_EQ(bench.written_at[3].size(), 1u);
}

TEST(MemoryQueue, ReadIsForwardedFromTheQueue) {
  MemoryParameters p = simple_memory();
  p.front_latency = ns(4);
  p.back_latency = ns(8);
  MemoryBench bench(p);
  bench.write(1, line_in(0, 0));
  bench.read(2, line_in(0, 0));
  bench.read(3, line_in(0, 0, 1));
  bench.run();
  EXPECT_EQ(bench.read_at[2], Times{at_ns(4)});
  EXPECT_EQ(bench.read_at[3], Times{at_ns(35 + 12)});
  EXPECT_EQ(bench.memory.statistics().reads_forwarded, 1u);
  EXPECT_EQ(bench.memory.statistics().lines_read, 1u);
}

TEST(MemoryQueue, DroppedWriteNeverReachesTheDevice) {
  MemoryBench bench(simple_memory());
  Diary diary;
  bench.memory.observe(&diary);
  const WriteId id = bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 0));  // merges; goes with it
  bench.write(3, line_in(1, 0));
  EXPECT_EQ(bench.memory.pending_operations()[0], 1u);
  EXPECT_TRUE(bench.memory.drop(id));
  EXPECT_FALSE(bench.memory.drop(id));
  EXPECT_EQ(bench.memory.pending(id), nullptr);
  EXPECT_EQ(bench.memory.pending_operations()[0], 0u);
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(diary.entries, (std::vector<std::int64_t>{1, 2, 3, -2}));
  bench.drain();
  EXPECT_TRUE(bench.memory.idle());
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 0u);
  EXPECT_FALSE(bench.written_at.count(1));
  EXPECT_FALSE(bench.written_at.count(2));
  EXPECT_EQ(bench.memory.statistics().writes_dropped, 1u);
}

TEST(MemoryQueue, DroppedWriteDoesNotSurviveWhenItsDropIsReported) {
  MemoryBench bench(simple_memory());
  LeftAfterDrop observer(bench.memory);
  bench.memory.observe(&observer);
  const WriteId id = bench.write(1, line_in(0, 0));
  EXPECT_EQ(value_of(bench.memory.surviving(line_in(0, 0))), 1u);
  EXPECT_TRUE(bench.memory.drop(id));
  EXPECT_EQ(observer.left, (std::vector<std::uint64_t>{0}));
}

TEST(MemoryQueue, DropFreesAnEntryAndCancelsTheAcknowledgement) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  const WriteId first = bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 1));
  const WriteId third = bench.write(3, line_in(0, 2));
  bench.write(4, line_in(0, 3));
  EXPECT_TRUE(bench.memory.drop(third));
  EXPECT_TRUE(bench.memory.drop(first));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{2, 4}));
  bench.drain();
  EXPECT_FALSE(bench.persisted_at.count(3));
  EXPECT_EQ(bench.persisted_at[4], Times{at_ns(0)});
}

TEST(MemoryQueue, WriteInProgressAtABankCannotBeDropped) {
  MemoryBench bench(simple_memory());
  const WriteId id = bench.write(1, line_in(0, 0));
  bench.memory.drain();
  bench.run_until(at_ns(1));
  EXPECT_EQ(bench.memory.pending(id), nullptr);
  EXPECT_FALSE(bench.memory.drop(id));
  EXPECT_EQ(accepted(bench.memory), (std::vector<std::uint64_t>{1}));  // survives all the same
  bench.run();
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 1u);
}

TEST(MemoryQueue, IdOfAFinishedWriteIsInvalid) {
  MemoryBench bench(simple_memory());
  const WriteId old = bench.write(1, line_in(0, 0));
  bench.drain();
  bench.write(2, line_in(0, 0));
  EXPECT_EQ(bench.memory.pending(old), nullptr);
  EXPECT_FALSE(bench.memory.drop(old));
  EXPECT_FALSE(bench.memory.drop(WriteId{}));
}

TEST(MemoryQueue, FindReturnsTheNewestWriteOfItsKind) {
  MemoryBench bench(simple_memory());
  bench.write(1, line_in(0, 0), WriteKind::kData, 1);
  const WriteId newest = bench.write(2, line_in(0, 0), WriteKind::kData, 2);
  bench.write(3, line_in(0, 0), WriteKind::kLog, 3);
  WriteId found;
  ASSERT_TRUE(bench.memory.find(line_in(0, 0), WriteKind::kData, found));
  EXPECT_EQ(found, newest);
  EXPECT_EQ(bench.memory.pending(found)->owner, 2u);
  EXPECT_FALSE(bench.memory.find(line_in(0, 0), WriteKind::kMetadata, found));
  EXPECT_FALSE(bench.memory.find(line_in(0, 1), WriteKind::kData, found));
}

TEST(MemoryQueue, IdleChannelWritesUntilTheQueueIsBelowTheLowWatermark) {
  MemoryBench bench(simple_memory());  // low watermark 4, at least 2 writes a turn
  for (std::uint64_t i = 0; i < 4; ++i) bench.write(i, line_in(i, 0));
  bench.run();
  EXPECT_EQ(bench.written_at.size(), 0u);  // 4 isn't above 4
  bench.write(4, line_in(0, 1));
  bench.run();
  // Goes on while entries + 2 >= 4: from 5 down to 1.
  EXPECT_EQ(bench.written_at.size(), 4u);
  EXPECT_EQ(accepted(bench.memory).size(), 1u);
}

// High watermark 6, of the WPQ and of a log queue.
class MemoryWatermark : public testing::TestWithParam<WriteKind> {
 protected:
  static MemoryParameters parameters() {
    MemoryParameters p = simple_memory();
    p.log_queue_entries = 8;
    return p;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, MemoryWatermark,
                         testing::Values(WriteKind::kData, WriteKind::kLog));

TEST_P(MemoryWatermark, ReadsPrecedeWritesUpToTheHighWatermark) {
  MemoryBench bench(parameters());
  for (std::uint64_t i = 0; i < 6; ++i) bench.write(i, line_in(i % 4, 0, i / 4), GetParam());
  for (std::uint64_t i = 0; i < 4; ++i) bench.read(i, line_in(i, 1));
  bench.run();
  EXPECT_FALSE(bench.written_at.empty());
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (const auto& [number, times] : bench.written_at) {
      EXPECT_LT(bench.read_at[i][0], times[0]) << "read " << i << ", write " << number;
    }
  }
}

TEST_P(MemoryWatermark, WritesInterruptReadsAboveTheHighWatermark) {
  MemoryBench bench(parameters());
  for (std::uint64_t i = 0; i < 7; ++i) bench.write(i, line_in(i % 4, 0, i / 4), GetParam());
  for (std::uint64_t i = 0; i < 4; ++i) bench.read(i, line_in(i, 1));
  bench.run();
  // One read, then at least two writes before the channel turns back to the three other reads.
  EXPECT_EQ(bench.read_at.size(), 4u);
  EXPECT_EQ(bench.memory.statistics().bus_turnarounds % 2, 0u);
  Time last_read{};
  for (const auto& [number, times] : bench.read_at) last_read = max(last_read, times[0]);
  int before = 0;
  for (const auto& [number, times] : bench.written_at) before += times[0] < last_read;
  EXPECT_EQ(before, 2);
}

TEST(MemoryQueue, DrainEndsWhenTheQueueIsEmpty) {
  MemoryBench bench(simple_memory());
  bench.write(1, line_in(0, 0));
  bench.drain();
  bench.write(2, line_in(0, 0));
  bench.run();
  EXPECT_FALSE(bench.written_at.count(2));
}

TEST(MemoryQueue, CompletionsMaySendNewRequests) {
  MemoryBench bench(simple_memory());
  struct Chain {
    MemoryBench& bench;
    int left = 100;
    void next(std::uint64_t, Time) {
      if (--left == 0) return;
      const Line line =
          line_in(static_cast<std::uint64_t>(left) % 4, static_cast<std::uint64_t>(left));
      bench.memory.write({line, WriteKind::kData, 0, {}, {}, completion<&Chain::next>(*this)});
      bench.memory.read(line, {});
      bench.memory.drain();
    }
  } chain{bench};
  chain.next(0, at_ns(0));
  bench.run();
  EXPECT_EQ(chain.left, 0);
  EXPECT_TRUE(bench.memory.idle());
}

TEST(MemoryQueue, PendingRequestsAreCountedPerBank) {
  MemoryBench bench(simple_memory());
  EXPECT_EQ(bench.memory.bank_of(line_in(3, 5)), 3u);
  bench.read(1, line_in(3, 0));
  bench.read(2, line_in(3, 1));
  bench.write(3, line_in(3, 2));
  bench.write(4, line_in(3, 2));  // merges
  EXPECT_EQ(bench.memory.pending_operations()[3], 3u);
  EXPECT_EQ(bench.memory.pending_operations()[0], 0u);
  bench.run_until(at_ns(35));
  EXPECT_EQ(bench.memory.pending_operations()[3], 2u);
  bench.drain();
  EXPECT_EQ(bench.memory.pending_operations()[3], 0u);
}

// A link of 64 bytes per 8 ns and 100 ns each way.
MemoryParameters behind_a_link(QueuePlace place) {
  MemoryParameters p = simple_memory();
  p.link_latency = ns(100);
  p.link_bandwidth = {8'000'000'000};
  p.queue_place = place;
  p.front_latency = ns(1);
  return p;
}

TEST(MemoryLink, ReadTakesTheLinkLatencyTwice) {
  for (const QueuePlace place : {QueuePlace::kHost, QueuePlace::kDevice}) {
    MemoryBench bench(behind_a_link(place));
    bench.read(1, line_in(0, 0));
    bench.run();
    EXPECT_EQ(bench.read_at[1], Times{at_ns(100 + 35 + 8 + 100 + 1)});
  }
}

TEST(MemoryLink, QueueAtTheHostAcknowledgesAtOnce) {
  MemoryBench bench(behind_a_link(QueuePlace::kHost));
  bench.write(1, line_in(0, 0));
  bench.drain();
  EXPECT_EQ(bench.persisted_at[1], Times{at_ns(1)});
  EXPECT_EQ(bench.written_at[1], Times{at_ns(8 + 100 + 130)});
}

TEST(MemoryLink, QueueInTheDeviceAcknowledgesAcrossTheLink) {
  MemoryBench bench(behind_a_link(QueuePlace::kDevice));
  Diary diary;
  bench.memory.observe(&diary);
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(1, 0));
  bench.run_until(at_ns(107));
  EXPECT_TRUE(diary.entries.empty());
  bench.run_until(at_ns(108));
  EXPECT_EQ(diary.entries, (std::vector<std::int64_t>{1}));
  bench.run();
  EXPECT_EQ(bench.persisted_at[1], Times{at_ns(8 + 100 + 100 + 1)});
  EXPECT_EQ(bench.persisted_at[2], Times{at_ns(16 + 100 + 100 + 1)});
}

TEST(MemoryLink, ReservedWriteUsesItsEntryWhenItArrives) {
  MemoryParameters p = behind_a_link(QueuePlace::kDevice);
  p.wpq_entries = 2;
  MemoryBench bench(p);
  EXPECT_TRUE(bench.memory.reserve(0));
  const WriteId dropped = bench.write_reserved(1, line_in(0, 0));
  EXPECT_FALSE(bench.memory.reserve(0));
  EXPECT_TRUE(bench.memory.drop(dropped));
  EXPECT_TRUE(bench.memory.reserve(0));
  bench.write_reserved(2, line_in(0, 0));
  bench.drain();
  EXPECT_EQ(bench.persisted_at[2], Times{at_ns(16 + 100 + 100 + 1)});
  EXPECT_EQ(on_device(bench, line_in(0, 0)), 2u);
  EXPECT_TRUE(bench.persisted_at[1].empty());
  EXPECT_TRUE(bench.memory.reserve(0));
}

TEST(MemoryLink, WriteInFlightCanBeDropped) {
  MemoryBench bench(behind_a_link(QueuePlace::kDevice));
  const WriteId id = bench.write(1, line_in(0, 0));
  ASSERT_NE(bench.memory.pending(id), nullptr);
  EXPECT_TRUE(bench.memory.drop(id));
  EXPECT_EQ(bench.memory.pending(id), nullptr);
  bench.drain();
  EXPECT_TRUE(bench.memory.idle());
  EXPECT_TRUE(bench.persisted_at.empty());
  EXPECT_TRUE(bench.written_at.empty());
}

}  // namespace
}  // namespace pmemsim
