// Memory under load against closed forms. Each expectation is within 5% of the formula beside it.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "unit/memory_bench.hpp"

#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {
namespace {

// DDR4-2400 without refresh, one channel of 16 banks, and no time lost in the controller.
MemoryParameters ddr4() {
  MemoryParameters p;
  p.trefi = ns(0);
  p.front_latency = p.back_latency = ns(0);
  return p;
}

// PCM of the PMWeaver and Janus papers (their Tables I and 3).
MemoryParameters pcm() {
  MemoryParameters p = ddr4();
  p.banks_per_rank = 8;
  p.trcd = ns(48);
  p.tcl = ns(15);
  p.tcwd = ns(13);
  p.trp = {13'500};
  p.tras = ns(35);
  p.twr = ns(300);
  p.twtr = p.trtp = p.tburst = {7'500};
  p.trrd = ns(20);
  p.tfaw = ns(50);
  p.wpq_entries = 64;
  return p;
}

double in_ns(Picoseconds time) { return static_cast<double>(time.count) / 1000; }

// Keeps a number of requests under way, and counts how many are answered in a while.
class Load {
 public:
  Load(const MemoryParameters& parameters, std::function<Line()> next_line)
      : memory_(queue_, parameters), next_line_(std::move(next_line)) {}

  // Reads per ns with so many outstanding.
  double reads_per_ns(int outstanding) {
    return rate(outstanding, [this] { memory_.read(next_line_(), answer()); });
  }
  // Accepted writes per ns with so many waiting to be accepted.
  double writes_per_ns(int waiting) {
    return rate(waiting, [this] {
      memory_.write({next_line_(), WriteKind::kData, owner_++, {}, answer(), {}});
    });
  }
  const MemoryStatistics& statistics() const { return memory_.statistics(); }

 private:
  static constexpr std::uint64_t kWarmUp = 2'000;
  static constexpr std::uint64_t kMeasured = 20'000;

  Completion answer() { return completion<&Load::answered>(*this); }
  void answered(std::uint64_t, Time) {
    ++answers_;
    issue_();
  }
  double rate(int outstanding, std::function<void()> issue) {
    issue_ = std::move(issue);
    for (int i = 0; i < outstanding; ++i) issue_();
    while (answers_ < kWarmUp && queue_.step()) {
    }
    const Time begin = queue_.now();
    while (answers_ < kWarmUp + kMeasured && queue_.step()) {
    }
    return static_cast<double>(kMeasured) / in_ns(queue_.now() - begin);
  }

  EventQueue queue_;
  Memory memory_;
  std::function<Line()> next_line_;
  std::function<void()> issue_;
  std::uint64_t answers_ = 0;
  std::uint64_t owner_ = 0;
};

std::function<Line()> stream() {
  return [line = std::uint64_t{0}]() mutable { return Line{line++}; };
}

// The first line of one row after the other, each in another bank than the one before.
std::function<Line()> rows_round_robin(const MemoryParameters& p, std::uint64_t banks) {
  const std::uint64_t row_lines = p.row_size.count / kLineBytes;
  return [=, n = std::uint64_t{0}]() mutable {
    const std::uint64_t bank = n % banks;
    const std::uint64_t row = n++ / banks;
    return Line{(row * p.banks() + bank) * row_lines};
  };
}

// A memory whose pages are its rows, so that rows_round_robin() finds them.
MemoryParameters page_is_row(MemoryParameters p) {
  p.page_size = p.row_size;
  return p;
}

void expect_near(double measured, double formula) {
  EXPECT_NEAR(measured / formula, 1, 0.05) << measured << " measured, " << formula << " expected";
}

TEST(MemoryThroughput, OneReadAtATimeTakesItsLatency) {
  const MemoryParameters p = page_is_row(ddr4());
  // A read of a closed bank: tRCD + tCL + tBURST. (Sixteen banks on, tRAS + tRP are long over, but
  // the row of 16 reads ago is still open: + tRP.)
  const double latency = in_ns(p.trp + p.trcd + p.tcl + p.tburst);
  expect_near(Load(p, rows_round_robin(p, 16)).reads_per_ns(1), 1 / latency);
}

TEST(MemoryThroughput, StreamFillsTheBus) {
  const MemoryParameters p = ddr4();
  expect_near(Load(p, stream()).reads_per_ns(48), 1 / in_ns(p.tburst));
}

TEST(MemoryThroughput, RefreshReducesTheBandwidthByItsShareOfTime) {
  MemoryParameters p = ddr4();
  p.trefi = ns(7800);
  const double share = 1 - in_ns(p.trfc) / in_ns(p.trefi);
  const double measured = Load(p, stream()).reads_per_ns(48);
  expect_near(measured, share / in_ns(p.tburst));
  EXPECT_LT(measured, 0.975 / in_ns(p.tburst));
}

TEST(MemoryThroughput, FourChannelsHaveFourTimesTheBandwidth) {
  MemoryParameters p = ddr4();
  p.controllers = 2;
  p.channels_per_controller = 2;
  p.interleaving = Interleaving::kLine;
  expect_near(Load(p, stream()).reads_per_ns(200), 4 / in_ns(p.tburst));
}

TEST(MemoryThroughput, ConflictsInOneBankTakeRowCycles) {
  const MemoryParameters p = page_is_row(ddr4());
  expect_near(Load(p, rows_round_robin(p, 1)).reads_per_ns(16), 1 / in_ns(p.tras + p.trp));
}

TEST(MemoryThroughput, FewBanksLimitRowMisses) {
  const MemoryParameters p = page_is_row(ddr4());
  expect_near(Load(p, rows_round_robin(p, 4)).reads_per_ns(32), 4 / in_ns(p.tras + p.trp));
}

TEST(MemoryThroughput, FourActivatesWindowLimitsRowMisses) {
  MemoryParameters p = page_is_row(ddr4());
  p.tfaw = ns(40);
  expect_near(Load(p, rows_round_robin(p, 16)).reads_per_ns(32), 4 / in_ns(p.tfaw));
}

TEST(MemoryThroughput, RandomReadsKeepFewBanksBusy) {
  MemoryParameters p = page_is_row(ddr4());
  p.banks_per_rank = 4;
  p.page_policy = PagePolicy::kClosed;
  std::mt19937_64 random(1);
  const auto line = [&] { return Line{random() % (1 << 24)}; };
  // 64 reads over 4 banks: a bank is without work with probability (3/4)^64, never.
  expect_near(Load(p, line).reads_per_ns(64), 4 / in_ns(p.tras + p.trp));
}

TEST(MemoryThroughput, RandomReadsAreLimitedByTheirNumber) {
  MemoryParameters p = page_is_row(ddr4());
  p.page_policy = PagePolicy::kClosed;
  p.banks_per_rank = 64;
  p.tras = p.trp = p.trtp = ns(0);
  p.tburst = {100};
  p.trrd = p.tfaw = ns(0);
  std::mt19937_64 random(2);
  const auto line = [&] { return Line{random() % (1 << 24)}; };
  // Little's law; few enough reads that they rarely meet in a bank or on the bus.
  expect_near(Load(p, line).reads_per_ns(8), 8 / in_ns(p.trcd + p.tcl + p.tburst));
}

TEST(MemoryThroughput, ReadQueueLimitsOutstandingReads) {
  MemoryParameters p = page_is_row(ddr4());
  p.device = DeviceKind::kFixed;
  p.read_queue_entries = 8;
  p.front_latency = p.back_latency = ns(10);
  expect_near(Load(p, rows_round_robin(p, 16)).reads_per_ns(32),
              8 / in_ns(p.read_latency + p.tburst + p.front_latency + p.back_latency));
}

TEST(MemoryThroughput, FixedDeviceIsLimitedByItsBanks) {
  MemoryParameters p = page_is_row(ddr4());
  p.device = DeviceKind::kFixed;
  p.banks_per_rank = 8;
  p.read_latency = ns(48);
  p.write_latency = ns(300);
  expect_near(Load(p, rows_round_robin(p, 8)).reads_per_ns(48),
              8 / in_ns(p.read_latency + p.tburst));
  expect_near(Load(p, rows_round_robin(p, 8)).writes_per_ns(16),
              8 / in_ns(p.write_latency + p.tburst));
}

// A bank of 300 ns that takes the next line after 50 ns accepts as much as one of 50 ns.
TEST(MemoryThroughput, WriteOccupancyLimitsAFixedDeviceInsteadOfItsLatency) {
  MemoryParameters p = page_is_row(ddr4());
  p.device = DeviceKind::kFixed;
  p.banks_per_rank = 8;
  p.write_latency = ns(300);
  p.write_occupancy = ns(50);
  expect_near(Load(p, rows_round_robin(p, 8)).writes_per_ns(16),
              8 / in_ns(p.write_occupancy + p.tburst));
  p.latency_factor.value = 2;
  expect_near(Load(p, rows_round_robin(p, 8)).writes_per_ns(16),
              8 / in_ns(p.write_occupancy * 2 + p.tburst));
  p.write_occupancy = ns(5);  // the bus is the limit then
  expect_near(Load(p, rows_round_robin(p, 8)).writes_per_ns(16), 1 / in_ns(p.tburst));
}

// A module with buffers before media of four lines: 40 ns a line read, 110 ns a line written.
MemoryParameters module_of_256_bytes() {
  MemoryParameters p = ddr4();
  p.device = DeviceKind::kBuffered;
  p.buffer_latency = ns(50);
  p.read_latency = ns(180);
  p.media_read_interval = ns(40);
  p.media_write_interval = ns(110);
  p.tburst = ns(3);
  return p;
}
std::function<Line()> anywhere() {
  return [random = std::mt19937_64(1)]() mutable { return Line{random() % (1 << 28)}; };
}
TEST(Buffered, SequentialReadsShareAReadOfTheMedia) {
  Load in_order(module_of_256_bytes(), stream());
  expect_near(1 / in_order.reads_per_ns(1), (180 + 4 * (50.0 + 3)) / 4);
  Load at_random(module_of_256_bytes(), anywhere());
  expect_near(1 / at_random.reads_per_ns(1), 180 + 50 + 3);
}
TEST(Buffered, ReadsAreLimitedByTheMedia) {
  Load in_order(module_of_256_bytes(), stream());
  expect_near(in_order.reads_per_ns(32), 4 / 40.0);
  Load at_random(module_of_256_bytes(), anywhere());
  expect_near(at_random.reads_per_ns(32), 1 / 40.0);
  EXPECT_EQ(at_random.statistics().media_bytes_read, at_random.statistics().lines_read * 256);
}
TEST(Buffered, WritesAreLimitedByTheMedia) {
  Load in_order(module_of_256_bytes(), stream());
  expect_near(in_order.writes_per_ns(32), 4 / 110.0);
  Load at_random(module_of_256_bytes(), anywhere());
  expect_near(at_random.writes_per_ns(32), 1 / 110.0);
}
// Streams that take turns: a line is chosen to go before it is whole, the likelier the more there
// are.
TEST(Buffered, MoreWriteStreamsIncreaseWriteAmplification) {
  double before = 1;
  for (const std::uint64_t writers : {1u, 4u, 16u}) {
    MemoryParameters p = module_of_256_bytes();
    p.write_merging = false;
    std::uint64_t count = 0;
    Load load(p, [&] {
      const std::uint64_t turn = count++;
      return Line{(turn % writers << 20) + turn / writers};
    });
    load.writes_per_ns(32);
    const MemoryStatistics& all = load.statistics();
    const double amplification = static_cast<double>(all.media_bytes_written) /
                                 static_cast<double>(all.all_lines_written() * kLineBytes);
    EXPECT_GT(amplification, before - 0.02);
    before = amplification;
  }
  EXPECT_GT(before, 1.1);
}

TEST(MemoryThroughput, FullQueueAcceptsWritesAtTheRateOfItsBanks) {
  const MemoryParameters p = page_is_row(pcm());
  // Bank cycle of a write to a row that isn't open.
  const double cycle = in_ns(p.trcd + p.tcwd + p.tburst + p.twr + p.trp);
  Load one_bank(p, rows_round_robin(p, 1));
  expect_near(one_bank.writes_per_ns(4), 1 / cycle);
  EXPECT_GT(one_bank.statistics().wpq_full_time.count, 0);
  expect_near(Load(p, rows_round_robin(p, 8)).writes_per_ns(4), 8 / cycle);
}

TEST(MemoryThroughput, StreamOfWritesFillsTheBus) {
  const MemoryParameters p = ddr4();
  expect_near(Load(p, stream()).writes_per_ns(8), 1 / in_ns(p.tburst));
}

TEST(MemoryThroughput, LatencyFactorSlowsBanksInProportion) {
  MemoryParameters p = page_is_row(ddr4());
  p.latency_factor = {16};
  expect_near(Load(p, rows_round_robin(p, 1)).reads_per_ns(16), 1 / (16 * in_ns(p.tras + p.trp)));
}

MemoryParameters cxl(QueuePlace place) {
  MemoryParameters p = ddr4();
  p.channels_per_controller = 2;
  p.interleaving = Interleaving::kLine;
  p.link_latency = ns(70);
  p.link_bandwidth = {16'000'000'000};  // 64 bytes in 4 ns, less than the two channels have
  p.queue_place = place;
  return p;
}

TEST(MemoryThroughput, LinkLimitsReadsAndWrites) {
  for (const QueuePlace place : {QueuePlace::kHost, QueuePlace::kDevice}) {
    const MemoryParameters p = cxl(place);
    expect_near(Load(p, stream()).reads_per_ns(100), 1 / 4.0);
    expect_near(Load(p, stream()).writes_per_ns(100), 1 / 4.0);
  }
}

TEST(MemoryThroughput, LinkAddsItsLatencyBothWays) {
  for (const QueuePlace place : {QueuePlace::kHost, QueuePlace::kDevice}) {
    const MemoryParameters p = page_is_row(cxl(place));
    const Line line{0};
    // All reads are of one line, and therefore row hits.
    expect_near(Load(p, [=] { return line; }).reads_per_ns(1),
                1 / (in_ns(p.tcl + p.tburst) + 4 + 2 * 70));
  }
}

}  // namespace
}  // namespace pmemsim
