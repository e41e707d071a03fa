// LALEA's allocation, walked through figure 2 of the paper, and its FIFOs.
#include "pmemsim/atomicity/load_aware_log.hpp"

#include <gtest/gtest.h>

#include <set>

#include "memory_bench.hpp"

namespace pmemsim {
namespace {

// Two banks of pages of two lines, whose every write takes 300 ns.
MemoryParameters two_banks() {
  MemoryParameters p = simple_memory();
  p.device = DeviceKind::kFixed;
  p.banks_per_rank = 2;
  p.read_latency = ns(48);
  p.write_latency = ns(300);
  p.log_queue_entries = 32;
  return p;
}

HardwareLogParameters small_log() {
  HardwareLogParameters p;
  p.allocation = LogAllocation::kLoadAware;
  p.free_entries = 4;
  p.free_headers = 2;
  return p;
}

// In-place updates wait for their banks, two for bank 0 and one for bank 1, when log requests L1,
// L2 and L3 come.
struct Figure2a {
  Figure2a() : bench(two_banks()) {
    bench.write(1, Line{0});
    bench.write(2, Line{1});
    bench.write(3, Line{2});
    for (const std::uint64_t line : {0, 1}) EXPECT_EQ(bench.memory.bank_of({line}), 0u);
    EXPECT_EQ(bench.memory.bank_of({2}), 1u);
    EXPECT_EQ(bench.memory.pending_operations()[0], 2u);
    EXPECT_EQ(bench.memory.pending_operations()[1], 1u);
  }
  MemoryBench bench;
};

TEST(LaleaFigure2a, ConventionalLoggingQueuesUpAtOneBank) {
  Figure2a figure;
  // Blocks one after the other, all in bank 0: with two lines a page, every fourth line is.
  std::uint64_t number = 10;
  for (const std::uint64_t line : {kLogBase / 64, kLogBase / 64 + 1, kLogBase / 64 + 4}) {
    EXPECT_EQ(figure.bench.memory.bank_of({line}), 0u);
    figure.bench.write(number++, {line}, WriteKind::kLog);
  }
  EXPECT_EQ(figure.bench.memory.pending_operations()[0], 5u);
  figure.bench.run();
  const Picoseconds last = figure.bench.persisted_at[12].at(0);
  EXPECT_GE(last, ns(5 * 300)) << "L3 waits for four others";
  EXPECT_LT(last, ns(5 * 300 + 50));
}

TEST(LaleaFigure2a, LaleaBalancesTheBanks) {
  Figure2a figure;
  LoadAwareLog log(figure.bench.memory, 2, small_log());
  std::vector<std::uint32_t> banks;
  for (std::uint64_t number = 10; number < 13; ++number) {
    const Line entry = log.entry();
    banks.push_back(figure.bench.memory.bank_of(entry));
    figure.bench.write(number, entry, WriteKind::kLog);
  }
  EXPECT_EQ(banks, (std::vector<std::uint32_t>{1, 0, 1}));
  EXPECT_EQ(figure.bench.memory.pending_operations()[0], 3u);
  EXPECT_EQ(figure.bench.memory.pending_operations()[1], 3u);
  figure.bench.run();
  for (const std::uint64_t number : {10, 11, 12}) {
    EXPECT_LT(figure.bench.persisted_at[number].at(0), ns(3 * 300 + 50));
  }
}

TEST(LoadAwareLog, HeadersAreTwoLinesOfOneBankUnderBothInterleavings) {
  for (const Interleaving interleaving : {Interleaving::kPage, Interleaving::kLine}) {
    MemoryParameters p = two_banks();
    p.banks_per_rank = 4;
    p.interleaving = interleaving;
    MemoryBench bench(p);
    LoadAwareLog log(bench.memory, 4, small_log());
    EXPECT_EQ(log.header_stride(), interleaving == Interleaving::kPage ? 1u : 4u);
    std::set<std::uint64_t> lines;
    for (std::uint32_t bank = 0; bank < 4; ++bank) {
      for (int header = 0; header < 2; ++header) {
        const HeaderPlace place = log.header(bank);
        EXPECT_EQ(bench.memory.bank_of(place.first), bank);
        EXPECT_EQ(bench.memory.bank_of(place.second), bank);
        EXPECT_EQ(place.second.number, place.first.number + log.header_stride());
        lines.insert({place.first.number, place.second.number});
      }
    }
    for (int entry = 0; entry < 16; ++entry) lines.insert(log.entry().number);
    EXPECT_EQ(lines.size(), 32u) << "no line twice";
    EXPECT_EQ(log.growths(), 0u);
  }
}

TEST(LoadAwareLog, ReleasedBlocksGoToTheEndOfTheirFifo) {
  MemoryBench bench(two_banks());
  LoadAwareLog log(bench.memory, 2, small_log());
  std::vector<Line> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(log.entry());  // idle: bank 0, until it has none left
  EXPECT_EQ(bench.memory.bank_of(taken[3]), 0u);
  log.free_entry(taken[2]);
  log.free_entry(taken[0]);
  EXPECT_EQ(log.entry(), taken[2]);
  EXPECT_EQ(log.entry(), taken[0]);
  EXPECT_EQ(bench.memory.bank_of(log.entry()), 1u) << "bank 0 has no free block";
}

TEST(LoadAwareLog, GrowsWhenNoBankHasABlock) {
  MemoryBench bench(two_banks());
  LoadAwareLog log(bench.memory, 2, small_log());
  std::set<std::uint64_t> lines;
  for (int i = 0; i < 8; ++i) lines.insert(log.entry().number);
  EXPECT_EQ(log.growths(), 0u);
  for (int i = 0; i < 8; ++i) lines.insert(log.entry().number);
  EXPECT_EQ(log.growths(), 1u);
  EXPECT_EQ(lines.size(), 16u);
  for (std::uint32_t bank = 0; bank < 2; ++bank) {
    for (int i = 0; i < 4; ++i) log.header(bank);
  }
  log.grow_if_empty();
  EXPECT_EQ(log.growths(), 2u);
}

}  // namespace
}  // namespace pmemsim
