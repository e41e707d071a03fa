// LALEA's allocation: its operation counters and FIFOs.
#include "pmemsim/designs/atomicity/load_aware_log.hpp"
#include "pmemsim/designs/backend/backend.hpp"

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

TEST(LoadAwareLog, HeadersAreTwoLinesOfOneBankUnderBothInterleavings) {
  for (const Interleaving interleaving : {Interleaving::kPage, Interleaving::kLine}) {
    MemoryParameters p = two_banks();
    p.banks_per_rank = 4;
    p.interleaving = interleaving;
    MemoryBench bench(p);
    const Backend backend(bench.queue, bench.memory, {}, ns(0));
    LoadAwareLog log(backend, 4, small_log());
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
  const Backend backend(bench.queue, bench.memory, {}, ns(0));
  LoadAwareLog log(backend, 2, small_log());
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
  const Backend backend(bench.queue, bench.memory, {}, ns(0));
  LoadAwareLog log(backend, 2, small_log());
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

TEST(LoadAwareLog, CountersOfPendingWritesSaturateAt255) {
  MemoryBench bench(two_banks());
  const Backend backend(bench.queue, bench.memory, {}, ns(0));
  for (std::uint64_t number = 0; number < 260; ++number) {
    bench.write(number, {4 * number});
    if (number < 254) bench.write(1000 + number, {4 * number + 2});
  }
  ASSERT_EQ(bench.memory.pending_operations()[0], 260u);
  ASSERT_EQ(bench.memory.pending_operations()[1], 254u);
  LoadAwareLog log(backend, 2, small_log());
  EXPECT_EQ(bench.memory.bank_of(log.entry()), 1u);
  bench.write(2000, {2 + 4 * 254});
  bench.write(2001, {2 + 4 * 255});
  EXPECT_EQ(bench.memory.bank_of(log.entry()), 0u) << "255 and 255, though 260 and 256 wait";
}

std::set<Line> all_entries(const LoadAwareLog& log) {
  std::set<Line> lines;
  for (std::uint32_t bank = 0; bank < 2; ++bank) {
    lines.insert(log.free_entries(bank).begin(), log.free_entries(bank).end());
  }
  return lines;
}

TEST(LoadAwareLog, RebuiltLogIncludesItsGrowth) {
  MemoryBench bench(two_banks());
  const Backend backend(bench.queue, bench.memory, {}, ns(0));
  LoadAwareLog log(backend, 2, small_log());
  std::set<Line> blocks, in_use;
  for (int i = 0; i < 9; ++i) blocks.insert(log.entry());
  EXPECT_EQ(log.growths(), 1u);
  in_use = {*blocks.begin(), *blocks.rbegin()};
  blocks.merge(all_entries(log));
  EXPECT_EQ(blocks.size(), 16u);

  const LoadAwareLog rebuilt(backend, 2, small_log(), log.growths(), in_use);
  EXPECT_EQ(rebuilt.growths(), 1u);
  for (const Line line : in_use) blocks.erase(line);
  EXPECT_EQ(all_entries(rebuilt), blocks);
  EXPECT_EQ(rebuilt.free_headers(0).size(), 4u);
}

}  // namespace
}  // namespace pmemsim
