// Pauses and rollbacks of threads at random times, in random programs. The final contents of PM
// equal those of a run without them, and every crash leaves an allowed image.
#include <gtest/gtest.h>

#include "long_tests.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "random_trace.hpp"
#include "shared_regions.hpp"
#include "speculating_layers.hpp"

namespace pmemsim {
namespace {

struct Outcome {
  std::vector<std::byte> pm;
  std::uint64_t rewinds, pauses, wrong, regions;
  std::uint64_t while_waiting;  // rewinds of a thread while another one waited for a lock
};

Configuration speculating(std::uint32_t seed, std::uint32_t stores_per_alarm,
                          const std::vector<KeyValue>& more = {}) {
  const std::string seed_text = std::to_string(seed);
  const std::string alarms = std::to_string(stores_per_alarm);
  return configure(settings({{"ordering", "speculating"},
                             {"speculating.seed", seed_text},
                             {"speculating.stores_per_alarm", alarms},
                             {"l1.size", "1KiB"},
                             {"l1.ways", "2"},
                             {"l2.size", "0B"},
                             {"shared.size", "16KiB"},
                             {"core.store_queue_entries", "8"},
                             {"core.lock_order", seed % 2 == 0 ? "arm" : "x86"},
                             {"core.mshrs", "4"}},
                            more),
                   with_speculation());
}

double found(const StatisticsCollector& collector, std::string_view name) {
  for (const Statistic& statistic : collector.found) {
    if (statistic.name == name) return statistic.value;
  }
  throw Error("no statistic " + std::string(name));
}

// SharedRegions uses nothing beyond: the last line is that of all threads' words.
constexpr std::uint64_t kLines = (1 << 10) + 1;

// Detects rollbacks of a store while another thread waits for a lock. Threads of SharedRegions wait
// only for locks.
class Waiting final : public ProgramObserver {
 public:
  explicit Waiting(Machine& machine)
      : machine_(machine),
        ordering_(dynamic_cast<const SpeculatingOrdering&>(machine.design().ordering())) {
    machine.observe(this);
  }
  void stored(Line, std::uint32_t) override {
    if (!ordering_.rewinding() || ordering_.rewinds() == seen_) return;
    seen_ = ordering_.rewinds();
    rewinds_ += machine_.synchronisation().waiting() > 0;
  }
  void region_durable(CoreId, std::uint64_t) override {}
  void fence_fulfilled(CoreId, std::uint64_t) override {}
  std::uint64_t rewinds() const { return rewinds_; }

 private:
  const Machine& machine_;
  const SpeculatingOrdering& ordering_;
  std::uint64_t seen_ = 0, rewinds_ = 0;
};

Outcome run(const trace::TraceFile& file, const Configuration& configuration) {
  Machine machine(configuration, file);
  const Waiting waiting(machine);
  EXPECT_TRUE(machine.run({}));
  StatisticsCollector collector;
  machine.describe_statistics(collector);
  const auto count = [&](std::string_view name) {
    return static_cast<std::uint64_t>(found(collector, name));
  };
  Outcome outcome{{},
                  count("speculating.rewinds"),
                  count("speculating.pauses"),
                  count("speculating.wrong"),
                  count("core.regions"),
                  waiting.rewinds()};
  for (std::uint64_t line = 0; line < kLines; ++line) {
    const LineData data = machine.pm_space().newest().read(Line::of(kPmBase + line * kLineBytes));
    outcome.pm.insert(outcome.pm.end(), data.begin(), data.end());
  }
  for (const auto& core : machine.cores()) {
    EXPECT_TRUE(core->finished());
    EXPECT_EQ(core->clock().time(core->account().total()), core->end());
  }
  return outcome;
}

struct Discipline {
  std::string_view name;
  SharedRegions::Options options;
  std::string_view atomicity;
  std::uint64_t rewinds;  // the long form has twice as many
};
const std::vector<Discipline> kDisciplines{
    {"LocksAround", {.false_sharing = true}, "undo-bytes", 300},
    {"LocksUntilAfterEnd",
     {.locks_until_after_end = true, .lock_around_dram = true, .false_sharing = true},
     "undo-bytes",
     1000},
    {"LocksInside", {.locks_inside = true}, "undo-bytes-together", 1000},
    {"PlainLocks", {.false_sharing = true, .plain_locks = true}, "undo-bytes", 300},
};

class Rewind : public testing::TestWithParam<Discipline> {
 protected:
  static SharedRegions::Options program(std::uint32_t seed) {
    SharedRegions::Options options = GetParam().options;
    options.seed = seed;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(With, Rewind, testing::ValuesIn(kDisciplines),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Rewind, FinalMemoryEqualsARunWithoutRollbacks) {
  std::uint64_t rewinds = 0, pauses = 0, while_waiting = 0;
  const std::uint64_t enough = GetParam().rewinds * amount(1, 3, 6) / 3;
  for (std::uint32_t seed = 1; rewinds < enough; ++seed) {
    SharedRegions shared(program(seed));
    const TemporaryTrace temporary(shared.builder);
    const trace::TraceFile file(temporary.path());
    const KeyValue atomicity{"atomicity", GetParam().atomicity};
    const Outcome never = run(file, speculating(seed, 0, {atomicity}));
    const Outcome often = run(file, speculating(seed, 2, {atomicity}));
    EXPECT_EQ(never.rewinds, 0u);
    EXPECT_EQ(often.pm, never.pm) << seed;
    EXPECT_EQ(often.regions, never.regions);
    EXPECT_EQ(often.wrong, 0u) << seed;
    rewinds += often.rewinds;
    pauses += often.pauses;
    while_waiting += often.while_waiting;
    ASSERT_LT(seed, 1000u) << "too few were taken back: " << rewinds;
  }
  EXPECT_GT(pauses, amount(0u, 100u, 100u));
  EXPECT_GT(while_waiting, amount(0u, 100u, 100u));
}

// Runs with many alarms, and with few.
TEST_P(Rewind, CrashesOfRunsWithRollbacksKeepGuarantees) {
  std::uint64_t crashes = 0;
  const std::uint32_t seeds = amount(1u, 3u, 8u);
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const std::uint32_t stores_per_alarm = seed % 2 == 0 ? 8 : 2;
    const SharedRun run = crash_shared(
        program(seed), speculating(seed, stores_per_alarm, {{"atomicity", GetParam().atomicity}}));
    EXPECT_EQ(run.problem, "") << seed;
    crashes += run.crashes;
  }
  EXPECT_GT(crashes, 100 * seeds);
}

// Under simulated lock order, rollbacks change the order of critical sections, so that PM may hold
// other values.
TEST_P(Rewind, RunEndsUnderSimulatedLockOrder) {
  std::uint64_t rewinds = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SharedRegions shared(program(seed));
    const TemporaryTrace temporary(shared.builder);
    const Outcome often =
        run(trace::TraceFile(temporary.path()),
            speculating(seed, 8,
                        {{"atomicity", GetParam().atomicity}, {"run.lock_order", "simulated"}}));
    EXPECT_EQ(often.regions, 60u);
    EXPECT_EQ(often.wrong, 0u) << seed;
    rewinds += often.rewinds;
  }
  EXPECT_GT(rewinds, 100u);
}

// Programs with atomic variables, copies, non-temporal stores, branches and races: data that do not
// depend on the order of threads are equal. The long form has more programs.
TEST(RewindOfRandomPrograms, UnsharedDataEqualARunWithoutRollbacks) {
  std::uint64_t rewinds = 0;
  for (std::uint32_t seed = 1; seed <= (long_tests() ? 15u : 6u); ++seed) {
    RandomTrace random({.seed = seed, .threads = 1 + seed % 4, .operations = 3000});
    const TemporaryTrace temporary(random.builder);
    const trace::TraceFile file(temporary.path());
    Machine never(speculating(seed, 0, {{"atomicity", "none"}}), file);
    Machine often(speculating(seed, 20, {{"atomicity", "none"}}), file);
    EXPECT_TRUE(never.run({}));
    EXPECT_TRUE(often.run({}));
    const auto same = [&](std::uint64_t address) {
      const Line line = Line::of(address);
      return never.pm_space().newest().read(line) == often.pm_space().newest().read(line);
    };
    for (std::uint32_t thread = 0; thread < 4; ++thread) {
      for (std::uint64_t line = 0; line < 64; ++line) {
        EXPECT_TRUE(same(kPmBase + (1u << 20) * (1 + thread) + line * kLineBytes))
            << "seed " << seed << ", line " << line << " of thread " << thread;
      }
    }
    EXPECT_TRUE(same(kPmBase + (32u << 20))) << "atomic variables, seed " << seed;
    for (const auto& [word, value] : random.last_in_lock_order) {
      EXPECT_TRUE(same(word)) << "what a lock protects, seed " << seed;
    }
    StatisticsCollector collector;
    often.describe_statistics(collector);
    rewinds += static_cast<std::uint64_t>(found(collector, "speculating.rewinds"));
    for (const auto& core : often.cores()) {
      EXPECT_TRUE(core->finished());
      EXPECT_EQ(core->clock().time(core->account().total()), core->end());
    }
  }
  EXPECT_GT(rewinds, 100u);
}

}  // namespace
}  // namespace pmemsim
