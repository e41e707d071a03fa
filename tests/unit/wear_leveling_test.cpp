// Start-Gap: where lines are, what a move costs, and crashes at every point of one.
#include "pmemsim/designs/backend/wear_leveling.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "operations_bench.hpp"
#include "pmemsim/designs/backend/compression.hpp"
#include "pmemsim/designs/backend/deduplication.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/error_correction.hpp"
#include "pmemsim/designs/backend/integrity.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"

namespace pmemsim {
namespace {

// ---- The registers

std::vector<std::uint64_t> places(const StartGap& registers, std::uint64_t lines) {
  std::vector<std::uint64_t> places;
  for (std::uint64_t line = 0; line < lines; ++line) places.push_back(registers.place_of(line));
  return places;
}

TEST(StartGap, LinesMoveOneAfterTheOther) {
  using Places = std::vector<std::uint64_t>;
  StartGap registers(3);
  EXPECT_EQ(places(registers, 3), (Places{0, 1, 2}));
  registers.move();
  EXPECT_EQ(places(registers, 3), (Places{0, 1, 3}));
  registers.move();
  EXPECT_EQ(places(registers, 3), (Places{0, 2, 3}));
  registers.move();
  EXPECT_EQ(places(registers, 3), (Places{1, 2, 3}));
  registers.move();
  EXPECT_EQ(places(registers, 3), (Places{1, 2, 0})) << "the gap is at the end again";
  registers.move();
  EXPECT_EQ(places(registers, 3), (Places{1, 3, 0}));
}

TEST(StartGap, OnlyTheLineBeforeTheGapMoves) {
  for (const std::uint64_t lines : {1, 2, 3, 7, 64}) {
    StartGap registers(lines);
    for (std::uint64_t move = 0; move < 2 * lines * (lines + 1) + 1; ++move) {
      const std::vector<std::uint64_t> before = places(registers, lines);
      const std::uint64_t gap = registers.gap();
      const auto moves = registers.line_at(registers.before_gap());
      EXPECT_FALSE(registers.line_at(gap));
      ASSERT_TRUE(moves);
      registers.move();
      for (std::uint64_t line = 0; line < lines; ++line) {
        ASSERT_EQ(registers.place_of(line), line == moves ? gap : before[line]);
        ASSERT_EQ(registers.line_at(registers.place_of(line)), line);
      }
    }
  }
}

TEST(StartGap, FullRoundMovesEveryLineByOne) {
  constexpr std::uint64_t kLines = 5;
  StartGap registers(kLines);
  for (std::uint64_t round = 1; round < 12; ++round) {
    for (std::uint64_t move = 0; move < kLines + 1; ++move) registers.move();
    EXPECT_EQ(registers.gap(), kLines);
    for (std::uint64_t line = 0; line < kLines; ++line) {
      EXPECT_EQ(registers.place_of(line), (line + round) % kLines);
    }
  }
}

// ---- Time and traffic

constexpr Line kLine{0};
constexpr Picoseconds kW1 = ns(1), kRead = ns(10 + 20 + 5);

auto levelling(std::uint32_t region_lines, std::uint32_t writes_per_move,
               const WearLevelingFaults& faults = {}) {
  WearLevelingParameters parameters;
  parameters.region_lines = region_lines;
  parameters.writes_per_move = writes_per_move;
  parameters.faults = faults;
  return std::make_unique<WearLeveling>(parameters);
}
auto deduplication() { return std::make_unique<Deduplication>(DeduplicationParameters{}, 1); }
auto encryption() { return std::make_unique<Encryption>(EncryptionParameters{}); }
auto integrity() {
  IntegrityParameters parameters;
  parameters.levels = 1;
  return std::make_unique<Integrity>(parameters, 1);
}

TEST(WearLeveling, WriteAndReadTakeTheConfiguredTime) {
  OperationsBench bench(levelling(4, 100));
  EXPECT_EQ(bench.write(kLine, some_data(1)), kW1);
  EXPECT_EQ(bench.read({4}), kW1 + kRead) << "a read waits until its place is known";
}

TEST(WearLeveling, WriteWaitsForTheLocationThatDeduplicationChooses) {
  WearLevelingParameters slow;
  slow.latency = ns(50);
  OperationsBench bench(deduplication(), std::make_unique<WearLeveling>(slow));
  bench.write(kLine, some_data(1));
  bench.look_up(some_data(2));
  EXPECT_EQ(bench.write(kLine, some_data(2)), ns(321 + 50)) << "D1, D2, D3, W1; D4 beside it";
}

TEST(WearLeveling, LineMovesAfterTheConfiguredNumberOfWrites) {
  OperationsBench bench(levelling(4, 3));
  const auto moved = [&] { return bench.statistic("wear_leveling.moves"); };
  for (const std::uint64_t write : {1, 2, 3, 4}) {
    bench.settle();
    EXPECT_EQ(moved(), 0) << write;
    bench.write({0}, some_data(write));
    if (write == 3) break;
  }
  bench.settle();
  EXPECT_EQ(moved(), 1);
  EXPECT_EQ(bench.memory.statistics().reads, 1u) << "the line before the gap, 3";
  EXPECT_EQ(bench.memory.statistics().writes[static_cast<std::size_t>(WriteKind::kMetadata)], 1u);
  EXPECT_EQ(bench.backend->newest({0}), some_data(3));
  EXPECT_EQ(bench.memory.newest({0}), some_data(3)) << "line 0 is the last to move";
  EXPECT_EQ(bench.statistic("wear_leveling.most_writes"), 3);
}

TEST(WearLeveling, MovedLineStaysInItsOldLocationUntilOverwritten) {
  OperationsBench bench(levelling(2, 1));
  bench.write({1}, some_data(1));
  bench.settle();
  EXPECT_EQ(bench.memory.newest({1}), some_data(1));
  EXPECT_EQ(bench.backend->newest({1}), some_data(1));
  bench.write({1}, some_data(2));
  bench.settle();
  EXPECT_EQ(bench.memory.newest({1}), some_data(0)) << "now line 0 is here";
  EXPECT_EQ(bench.backend->newest({1}), some_data(2));
}

TEST(WearLeveling, MoveWaitsWhileItsLineIsInTheQueue) {
  OperationsBench bench(levelling(2, 1));
  bench.write({1}, some_data(1));
  bench.run();
  EXPECT_EQ(bench.statistic("wear_leveling.moves"), 0);
  bench.settle();
  EXPECT_EQ(bench.statistic("wear_leveling.moves"), 1);
}

TEST(WearLeveling, WriteVoidsTheCopyOfItsLine) {
  OperationsBench bench(levelling(2, 1));
  bench.write({0}, some_data(1));  // line 1 moves: its read takes 35 ns
  bench.run_until(bench.queue.now() + ns(5));
  bench.write({1}, some_data(2));
  bench.settle();
  EXPECT_EQ(bench.statistic("wear_leveling.voided"), 1);
  EXPECT_EQ(bench.statistic("wear_leveling.moves"), 1);
  EXPECT_EQ(bench.backend->newest({1}), some_data(2));
  EXPECT_EQ(bench.problem, "");
}

TEST(WearLeveling, WritesAreSpreadOverAllLocations) {
  const auto most_writes = [](std::uint32_t writes_per_move) {
    OperationsBench bench(levelling(4, writes_per_move));
    for (std::uint64_t write = 0; write < 1000; ++write) {
      bench.write({2}, some_data(write));
      bench.settle();
    }
    EXPECT_EQ(bench.problem, "");
    return bench.statistic("wear_leveling.most_writes");
  };
  EXPECT_EQ(most_writes(1001), 1000);
  EXPECT_LT(most_writes(10), 1000 / 5 * 1.5) << "five places";
}

// ---- Crashes

TEST(WearLeveling, NoLineIsLostAtAnyCrash) {
  for (const std::uint32_t writes_per_move : {1, 3}) {
    for (const bool drops : {false, true}) {
      OperationsBench bench(levelling(4, writes_per_move));
      bench.write_at_random(1 + writes_per_move, 3000, 10, drops);
      EXPECT_EQ(bench.problem, "") << writes_per_move << drops;
      EXPECT_GT(bench.statistic("wear_leveling.moves"), 100);
      EXPECT_GT(bench.statistic("wear_leveling.voided"), writes_per_move == 1 ? 10 : 0);
    }
  }
}

TEST(WearLeveling, NoLineIsLostAfterOtherBackendOperations) {
  ErrorCorrectionParameters flips;
  flips.flipped_bits = 1;
  OperationsBench bench(std::make_unique<Compression>(CompressionParameters{}), deduplication(),
                        encryption(), integrity(), std::make_unique<ErrorCorrection>(flips),
                        levelling(4, 1));
  bench.write_at_random(1, 2000, 10, false);
  EXPECT_EQ(bench.problem, "");
  EXPECT_GT(bench.statistic("wear_leveling.moves"), 100);
  EXPECT_GT(bench.statistic("deduplication.duplicates"), 10);
}

TEST(WearLeveling, InjectedFaultsAreDetected) {
  for (const WearLevelingFaults& faults :
       {WearLevelingFaults{.copy = true}, {.order = true}, {.void_copy = true}, {.wait = true}}) {
    bool found = false;
    for (std::uint64_t seed = 1; seed <= 8 && !found; ++seed) {
      OperationsBench bench(levelling(4, 1, faults));
      bench.write_at_random(seed, 1000, 10, true);
      found = bench.problem == "a crash loses a line";
    }
    EXPECT_TRUE(found) << faults.copy << faults.order << faults.void_copy << faults.wait;
  }
}

}  // namespace
}  // namespace pmemsim
