// Loads and stores that complete when they are dispatched have the times and statistics of those
// that pass through execution and retirement. An access that misses the first TLB does the latter,
// also if a page walk takes no time. The loop over straight-line code has the statistics of
// dispatch, which a profiled run does for each operation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "long_tests.hpp"
#include "pmemsim/machine/run/profile.hpp"
#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/site_flags.hpp"
#include "random_trace.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

const std::vector<KeyValue> kNoTlb{{"tlb.entries", "0"}};
const std::vector<KeyValue> kTlbOfOnePage{{"tlb.entries", "1"},
                                          {"tlb.ways", "1"},
                                          {"tlb.second_entries", "0"},
                                          {"tlb.walk_latency", "0ns"}};

// Returns all statistics but those of the TLB as text, one in each line.
std::string statistics(const trace::TraceFile& file, const std::vector<KeyValue>& machine,
                       const std::vector<KeyValue>& tlb) {
  std::string text;
  for (const Statistic& one : simulate(file, configure(settings(machine, tlb)), {}).statistics) {
    if (one.name.ends_with(".translations") || one.name.ends_with(".tlb_misses") ||
        one.name.ends_with(".page_walks")) {
      continue;
    }
    text += fmt::format("{} {}\n", one.name, one.value);
  }
  return text;
}

const std::vector<std::vector<KeyValue>> kMachines = {
    {},
    {{"core.width", "1"}, {"core.store_queue_entries", "2"}, {"core.load_queue_entries", "2"}},
    {{"core.rob_entries", "8"}, {"core.mshrs", "1"}, {"core.full_fences", "true"}},
    {{"prefetch.streams", "4"}, {"l1.size", "4KiB"}, {"ordering", "dpo"}},
    {{"core.time_slice", "2us"}, {"ordering", "hops"}},
    {{"backend", "encryption,integrity"}, {"precompute", "pmweaver"}},
};

TEST(AtOnce, StatisticsAreTheSame) {
  const int seeds = long_tests() ? 40 : 8;  // the long form has more programs
  for (int seed = 1; seed <= seeds; ++seed) {
    RandomTrace random({.seed = static_cast<std::uint32_t>(seed), .lines = 16});
    const TemporaryTrace trace(random.builder);
    const trace::TraceFile file(trace.path());
    for (std::size_t machine = 0; machine < kMachines.size(); ++machine) {
      EXPECT_EQ(statistics(file, kMachines[machine], kNoTlb),
                statistics(file, kMachines[machine], kTlbOfOnePage))
          << "seed " << seed << ", machine " << machine;
    }
  }
}

std::string statistics_of_all(const RunResult& result) {
  std::string text;
  for (const Statistic& one : result.statistics) {
    text += fmt::format("{} {}\n", one.name, one.value);
  }
  return text;
}

// A random program with all kinds of straight-line code: loops that carry values, functions that
// are called and return, copies, divisions, and branches of which some are mispredicted.
class StraightLineProgram {
 public:
  explicit StraightLineProgram(std::uint32_t seed) : random_(seed) {
    using trace::SiteKind;
    builder.pm_region(kPmBase, kPmBase + (1u << 20), "test");
    const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 2);
    const std::uint32_t carried = builder.site(SiteKind::kRecurrence, 0, 0, {load << 8 | 1},
                                               {(kFirst + 1) << 8 | 3, load << 8 | 40});
    EXPECT_EQ(carried, kFirst + 1);
    const std::uint32_t chase = builder.site(SiteKind::kLoad, 4, 1, {carried << 8 | 2});
    const std::uint32_t divided =
        builder.site(SiteKind::kLoad, 8, 1, {chase << 8 | 27 | trace::kDivides});
    const std::uint32_t store = builder.site(SiteKind::kStore, 8, 3, {carried << 8}, {chase << 8});
    const std::uint32_t copy_load = builder.site(SiteKind::kCopyLoad);
    const std::uint32_t copy_store = builder.site(SiteKind::kCopyStore);
    const std::uint32_t branch = builder.site(SiteKind::kBranch, 0, 2, {}, {divided << 8 | 1});
    const std::uint32_t entry =
        builder.site(SiteKind::kExecute, 0, 4, {}, {}, 0, trace::kSiteEntry);
    const std::uint32_t leave = builder.site(SiteKind::kExecute, 0, 2, {}, {}, 0, trace::kSiteExit);
    const std::uint32_t both =
        builder.site(SiteKind::kExecute, 0, 3, {}, {}, 0, trace::kSiteEntry | trace::kSiteExit);
    const std::uint32_t many = builder.site(SiteKind::kExecute, 0, 60);
    const std::uint32_t fence = builder.site(SiteKind::kFence);
    for (int i = 0; i < 1500; ++i) {
      switch (below(14)) {
        case 0:
          builder.access(load, address());
          break;
        case 1:
          builder.recurrence(carried, below(4) > 0);
          break;
        case 2:
          builder.access(chase, address());
          break;
        case 3:
          builder.access(divided, address());
          break;
        case 4:
        case 5:
          builder.store(store, address(), below(100));
          break;
        case 6:
          builder.copy(copy_load, address(), static_cast<std::uint8_t>(1 + below(16)));
          break;
        case 7:
          builder.copy(copy_store, address(), static_cast<std::uint8_t>(1 + below(16)), 7);
          break;
        case 8:
          builder.branch(branch, below(5) > 0);
          break;
        case 9:
          builder.plain(entry);
          break;
        case 10:
          builder.plain(leave);
          break;
        case 11:
          builder.plain(both);
          break;
        case 12:
          builder.plain(many);
          break;
        default:
          if (below(4) == 0) builder.plain(fence);
          if (below(30) == 0) builder.cut();
      }
    }
  }

  trace::TraceBuilder builder;

 private:
  static constexpr std::uint32_t kFirst = trace::kBuiltinSites;

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  // Most accesses are to few lines, some cross a line.
  std::uint64_t address() {
    const std::uint64_t line = below(8) > 0 ? below(4) : below(256);
    return (below(4) == 0 ? kPmBase : kDramBase) + line * kLineBytes + below(60);
  }

  std::mt19937 random_;
};

// Expects the same of a run and of a profiled one.
void expect_same_if_profiled(const trace::TraceFile& file, const std::vector<Setting>& settings,
                             const std::string& run) {
  const Configuration configuration = configure(settings);
  EXPECT_EQ(statistics_of_all(simulate(file, configuration, {})),
            statistics_of_all(profile(file, configuration, {}).result))
      << run;
}

TEST(AtOnce, StraightLineCodeHasTheStatisticsOfAProfiledRun) {
  const KeyValue few_returns{"core.return_stack_entries", "2"};  // so that some are mispredicted
  const int seeds = long_tests() ? 40 : 4;                       // the long form has more programs
  for (int seed = 1; seed <= seeds; ++seed) {
    StraightLineProgram program(static_cast<std::uint32_t>(seed));
    const TemporaryTrace trace(program.builder);
    const trace::TraceFile file(trace.path());
    RandomTrace random({.seed = static_cast<std::uint32_t>(seed), .lines = 16});
    const TemporaryTrace other_trace(random.builder);
    const trace::TraceFile other(other_trace.path());
    for (std::size_t machine = 0; machine < kMachines.size(); ++machine) {
      const std::string run = fmt::format("seed {}, machine {}", seed, machine);
      std::vector<KeyValue> more = machine % 2 == 0 ? kNoTlb : kTlbOfOnePage;
      more.push_back(few_returns);
      expect_same_if_profiled(file, settings(kMachines[machine], more), run);
      expect_same_if_profiled(other, settings(kMachines[machine], more), run);
    }
    expect_same_if_profiled(file, settings({{"run.instances", "2"}}), "two copies");
  }
}

// Simulates a valid operation and a damaged one, and expects an error about the latter.
void expect_damaged(void (*add)(trace::TraceBuilder& builder)) {
  trace::TraceBuilder builder;
  builder.warm(kDramBase, 0);  // so that loads hit the L1
  const std::uint32_t first = builder.site(trace::SiteKind::kExecute);
  for (int i = 0; i < 4; ++i) builder.plain(first);  // the first half of a thread ends apart
  add(builder);
  builder.plain(first);
  try {
    run_trace(builder, settings({}));
    ADD_FAILURE() << "no error";
  } catch (const trace::TraceError& error) {
    EXPECT_NE(std::string(error.what()).find("operation 4: the record is invalid"),
              std::string::npos)
        << error.what();
  }
}

TEST(AtOnce, DamagedRecordInStraightLineCodeIsReported) {
  using trace::SiteKind;
  using trace::TraceBuilder;
  expect_damaged([](TraceBuilder& builder) {
    builder.branch(builder.site(SiteKind::kExecute), true);  // a flag without meaning
  });
  expect_damaged([](TraceBuilder& builder) {
    builder.access(builder.site(SiteKind::kLoad, 8), trace::kMaxAddress + 1);
  });
  expect_damaged([](TraceBuilder& builder) {
    builder.store(builder.site(SiteKind::kStore, 8), trace::kMaxAddress + 1, 1);
  });
  for (const std::uint8_t bytes : {0, 17}) {
    static std::uint8_t copied;
    copied = bytes;
    expect_damaged([](TraceBuilder& builder) {
      builder.copy(builder.site(SiteKind::kCopyLoad), kDramBase, copied);
    });
    expect_damaged([](TraceBuilder& builder) {
      builder.copy(builder.site(SiteKind::kCopyStore), kDramBase, copied);
    });
  }
}

}  // namespace
}  // namespace pmemsim
