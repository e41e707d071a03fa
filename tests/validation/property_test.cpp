// Properties that hold for every program: random traces with fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "long_tests.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "random_trace.hpp"

namespace pmemsim {
namespace {

// Small caches and queues, so that everything happens: evictions, full queues, back-pressure.
std::vector<Setting> small_machine(const std::vector<KeyValue>& more = {}) {
  return settings({{"core.frequency", "3GHz"},
                   {"core.count", "8"},
                   {"core.rob_entries", "48"},
                   {"core.load_queue_entries", "12"},
                   {"core.store_queue_entries", "8"},
                   {"core.mshrs", "4"},
                   {"l1.size", "1KiB"},
                   {"l1.ways", "2"},
                   {"l2.size", "2KiB"},
                   {"l2.ways", "2"},
                   {"shared.size", "8KiB"},
                   {"shared.size_per_core", "0B"},
                   {"shared.ways", "4"},
                   {"pm.wpq_entries", "4"},
                   {"pm.min_writes_per_switch", "2"},
                   {"pm.read_queue_entries", "4"},
                   {"pm.banks_per_rank", "4"},
                   {"dram.wpq_entries", "8"}},
                  more);
}

struct FinishedRun {
  explicit FinishedRun(RandomTrace& random, const std::vector<Setting>& settings)
      : temporary(random.builder), file(temporary.path()), machine(configure(settings), file) {
    machine.run({});
    StatisticsCollector collector;
    machine.describe_statistics(collector);
    statistics = std::move(collector.found);
  }
  double operator[](std::string_view name) const {
    const auto found = std::find_if(statistics.begin(), statistics.end(),
                                    [&](const Statistic& s) { return s.name == name; });
    if (found == statistics.end()) throw Error("no statistic " + std::string(name));
    return found->value;
  }

  TemporaryTrace temporary;
  trace::TraceFile file;
  Machine machine;
  std::vector<Statistic> statistics;
};

class EverySeed : public testing::TestWithParam<std::uint32_t> {};
// Six have every number of threads and of lines that options() chooses; the long form has six more.
INSTANTIATE_TEST_SUITE_P(Random, EverySeed, seeds(1u, 6u, 12u));

RandomTraceOptions options(std::uint32_t seed) {
  // Few threads and many, few lines (contention) and more than the caches hold.
  return {
      .seed = seed, .threads = 1 + seed % 6, .operations = 6000, .lines = seed % 2 ? 12u : 200u};
}

TEST_P(EverySeed, RunDrainsAndCountsEveryInstructionAndWrite) {
  RandomTrace random(options(GetParam()));
  const FinishedRun run(random, small_machine());
  EXPECT_TRUE(run.machine.pm().idle());
  EXPECT_TRUE(run.machine.dram().idle());
  EXPECT_EQ(run["core.instructions"], static_cast<double>(random.instructions));
  for (const Memory* memory : {&run.machine.pm(), &run.machine.dram()}) {
    const MemoryStatistics& counted = memory->statistics();
    EXPECT_EQ(counted.all_writes(),
              counted.all_lines_written() + counted.writes_merged + counted.writes_dropped);
  }
}

TEST_P(EverySeed, CausesAddUpToTheTimeOfEveryCore) {
  RandomTrace random(options(GetParam()));
  const FinishedRun run(random, small_machine());
  Slot base = 0;
  for (const auto& core : run.machine.cores()) {
    EXPECT_EQ(core->clock().time(core->account().total()), core->end());
    base += core->account()[Cause::kBase];
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      EXPECT_GE(core->account()[static_cast<Cause>(cause)], 0) << kCauseTexts[cause].name;
    }
  }
  EXPECT_EQ(base, static_cast<Slot>(random.instructions));  // a slot an instruction
  double sum = 0;
  for (const CauseText& cause : kCauseTexts) sum += run["stall." + std::string(cause.name) + "_ns"];
  // Each cause is rounded down to a picosecond.
  EXPECT_NEAR(sum, run["stall.total_ns"], 0.001 * kCauses);
}

TEST_P(EverySeed, TwoRunsHaveEqualTimesAndStatistics) {
  RandomTrace random(options(GetParam()));
  const FinishedRun first(random, small_machine());
  const FinishedRun second(random, small_machine());
  EXPECT_EQ(first.machine.end(), second.machine.end());
  ASSERT_EQ(first.statistics.size(), second.statistics.size());
  for (std::size_t i = 0; i < first.statistics.size(); ++i) {
    EXPECT_EQ(first.statistics[i].name, second.statistics[i].name);
    EXPECT_EQ(first.statistics[i].value, second.statistics[i].value) << first.statistics[i].name;
  }
}

TEST_P(EverySeed, FencedLinesHoldTheirNewestValue) {
  for (const std::string_view persistence : {"accepted", "written"}) {
    RandomTrace random(options(GetParam()));
    const FinishedRun run(random, small_machine({{"pm.persistence", persistence}}));
    EXPECT_FALSE(random.persistent_lines.empty());
    for (const std::uint64_t address : random.persistent_lines) {
      const Line line = Line::of(address);
      EXPECT_EQ(run.machine.pm().device().read(line), run.machine.pm_space().newest().read(line))
          << std::hex << address;
    }
  }
}

TEST_P(EverySeed, PmHasTheNewestContentsIfAllIsFlushed) {
  RandomTraceOptions all = options(GetParam());
  all.flush_all = true;
  RandomTrace random(all);
  const FinishedRun run(random, small_machine());
  int pages = 0;
  run.machine.pm_space().newest().for_each_page([&](std::uint64_t address, const std::byte*) {
    ++pages;
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(address + at);
      EXPECT_EQ(run.machine.pm().device().read(line), run.machine.pm_space().newest().read(line))
          << std::hex << address + at;
    }
  });
  EXPECT_GT(pages, 0);
}

TEST_P(EverySeed, LocksAreTakenInTheRecordedOrder) {
  RandomTrace random(options(GetParam()));
  const FinishedRun run(random, small_machine());
  EXPECT_FALSE(random.last_in_lock_order.empty());
  for (const auto& [word, value] : random.last_in_lock_order) {
    const LineData line = run.machine.pm_space().newest().read(Line::of(word));
    std::uint64_t last = 0;
    std::memcpy(&last, line.data() + word % kLineBytes, sizeof last);
    EXPECT_EQ(last, value);
  }
}

TEST_P(EverySeed, RunUnderSimulatedLockOrderCompletes) {
  RandomTraceOptions no_atomics = options(GetParam());
  no_atomics.atomics = false;  // their recorded order may contradict that of the locks around them
  RandomTrace random(no_atomics);
  const FinishedRun run(random, small_machine({{"run.lock_order", "simulated"}}));
  EXPECT_EQ(run["core.instructions"], static_cast<double>(random.instructions));
}

// More of a resource, or a faster one, doesn't make a run slower. Scheduling anomalies (another
// order of requests, other victims in the caches) may cost a little; more where many cores fight
// for a few lines, for a core that asks earlier loses its line again before its store's turn.
TEST_P(EverySeed, BetterMachinesAreNotSlower) {
  const double anomaly = options(GetParam()).threads == 1 ? 1.02 : 1.08;
  RandomTrace random(options(GetParam()));
  const FinishedRun base(random, small_machine());
  for (const auto& [key, better] :
       {KeyValue{"pm.latency_factor", "0.5"}, KeyValue{"pm.wpq_entries", "64"},
        KeyValue{"pm.channels_per_controller", "4"}, KeyValue{"shared.latency", "10cycles"},
        KeyValue{"shared.size", "1MiB"}, KeyValue{"core.width", "8"},
        KeyValue{"core.rob_entries", "512"}, KeyValue{"core.store_queue_entries", "64"},
        KeyValue{"core.load_queue_entries", "64"}, KeyValue{"core.mshrs", "32"},
        KeyValue{"core.branch_penalty", "1cycles"}}) {
    const FinishedRun run(random, small_machine({{key, better}}));
    EXPECT_LE(static_cast<double>(run.machine.end().count),
              anomaly * static_cast<double>(base.machine.end().count))
        << key << "=" << better;
  }
}

}  // namespace
}  // namespace pmemsim
