// PMEM-Spec under conditions in which it misspeculates in most programs: tiny caches, persist paths
// slower than the memory, many threads. Every crash of every program is checked, and every load of
// stale bytes that matters. Further tests run the rules that are unsound as published, and injected
// faults that remove a protection: crashes of such programs reveal each of them.
//
// The long form has more programs, and counts in how many of them a defect is found. With
// sanitizers, so few run that a defect need not show.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "logged_regions.hpp"
#include "long_tests.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "shared_regions.hpp"

namespace pmemsim {
namespace {

struct Found {
  std::uint64_t programs = 0, misspeculating = 0, violating = 0;
  std::uint64_t points = 0, stale_reads = 0, alarms = 0, aborts = 0, without_speculation = 0;
  std::uint64_t missing_updates = 0;  // alarms of stores to the same bytes, in the wrong order
  std::string explanation;
};

std::uint64_t count(const Machine& machine, std::string_view name) {
  StatisticsCollector collector;
  machine.describe_statistics(collector);
  for (const Statistic& statistic : collector.found) {
    if (statistic.name == "pmem_spec." + std::string(name)) {
      return static_cast<std::uint64_t>(statistic.value);
    }
  }
  throw Error("no statistic " + std::string(name));
}

// Settings that differ between programs: each is chosen at random, and equal for equal seeds.
std::vector<Setting> conditions(std::uint32_t seed, std::string_view controllers,
                                const std::vector<KeyValue>& more) {
  std::mt19937 random(seed);
  const auto one_of = [&](std::initializer_list<const char*> values) {
    return std::string_view(values.begin()[random() % values.size()]);
  };
  return settings({{"ordering", "pmem-spec"},
                   {"core.count", "8"},
                   {"core.store_queue_entries", one_of({"8", "32"})},
                   {"core.rob_entries", one_of({"16", "192"})},
                   {"core.lock_order", one_of({"x86", "arm"})},
                   {"l1.size", "256B"},
                   {"l1.ways", "2"},
                   {"l2.size", "0B"},
                   {"shared.size", one_of({"512B", "1KiB"})},
                   {"shared.size_per_core", "0B"},
                   {"shared.ways", "2"},
                   {"pm.device", "fixed"},
                   {"pm.read_latency", one_of({"20ns", "60ns"})},
                   {"pm.write_latency", one_of({"20ns", "94ns"})},
                   {"pm.wpq_entries", one_of({"2", "8", "64"})},
                   {"pm.controllers", controllers},
                   {"pm.interleaving", "line"},
                   {"pmem_spec.path_latency", one_of({"100ns", "300ns", "1us"})},
                   {"pmem_spec.buffer_entries", one_of({"1", "4", "16"})},
                   {"pmem_spec.interrupt_latency", one_of({"50ns", "500ns", "2us"})},
                   {"pmem_spec.recovery", one_of({"lazy", "eager"})},
                   {"pmem_spec.retries", one_of({"0", "1", "3"})},
                   {"pmem_spec.allocation", one_of({"write-back", "write-back+tagged"})},
                   {"pmem_spec.controller_latency", one_of({"0ns", "20ns"})},
                   {"pmem_spec.store_interval", one_of({"1cycles", "1cycles", "20ns"})},
                   {"pmem_spec.path_stores", one_of({"0", "0", "1", "64"})},
                   {"pmem_spec.barrier_stops", one_of({"pm-stores", "store-queue"})},
                   {"pmem_spec.store_check", one_of({"arrival", "acceptance"})},
                   {"pmem_spec.full_buffer_stops", one_of({"cores", "cores+pm-stores"})}},
                  more);
}

void run_and_crash(trace::TraceBuilder& builder, const Configuration& configuration, Found& found) {
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configuration, file);
  EXPECT_TRUE(machine.run({}));
  ++found.programs;
  found.stale_reads += count(machine, "stale_reads");
  const std::uint64_t alarms = count(machine, "load_alarms") + count(machine, "store_alarms");
  found.alarms += alarms;
  found.misspeculating += alarms > 0;
  found.missing_updates += count(machine, "store_alarms") - count(machine, "false_store_alarms");
  found.aborts += count(machine, "aborts");
  found.without_speculation += count(machine, "without_speculation");
  const CrashResult result = crash(file, configuration, {}, {});
  found.points += result.points;
  found.violating += result.violations > 0;
  if (!result.explanation || !found.explanation.empty()) return;
  found.explanation = "program " + std::to_string(found.programs) + "\n";
  for (const std::string& line : result.explanation->lines) found.explanation += line + "\n";
}

// One program with a violation says that a defect is found; the long form counts all that have one.
bool enough(const Found& found) { return found.violating > 0 && !long_tests(); }

// Regions with either log, whose locks are held from before them until after them.
Found crash_regions(std::uint32_t programs, std::string_view controllers,
                    const std::vector<KeyValue>& more = {}) {
  Found found;
  for (std::uint32_t seed = 1; seed <= programs && !enough(found); ++seed) {
    const bool redo = seed % 2 == 0;
    LoggedRegions program(redo ? trace::ProgramLog::kRedo : trace::ProgramLog::kUndo, seed,
                          1 + seed % 8, 16, 8);
    std::vector<KeyValue> all{{"atomicity", redo ? "software-redo" : "software-undo"}};
    all.insert(all.end(), more.begin(), more.end());
    run_and_crash(program.builder, configure(conditions(seed, controllers, all)), found);
  }
  return found;
}

// Stores outside regions, under locks or handed over with them.
Found crash_stores(std::uint32_t programs, std::string_view controllers,
                   const std::vector<KeyValue>& more = {}) {
  Found found;
  for (std::uint32_t seed = 1; seed <= programs && !enough(found); ++seed) {
    SharedRegions program(
        {.seed = seed, .threads = 2 + seed % 3, .locks_inside = true, .false_sharing = true});
    std::vector<KeyValue> all{{"atomicity", "none"}};
    all.insert(all.end(), more.begin(), more.end());
    run_and_crash(program.builder, configure(conditions(seed, controllers, all)), found);
  }
  return found;
}

void report(const Found& found) {
  testing::Test::RecordProperty("programs", std::to_string(found.programs));
  testing::Test::RecordProperty("misspeculating", std::to_string(found.misspeculating));
  std::printf(
      "%llu programs, %llu of them with misspeculation; %llu stale reads, %llu alarms, %llu "
      "regions "
      "taken back, %llu executed without speculation; %llu crash points, %llu programs with a "
      "violation\n",
      static_cast<unsigned long long>(found.programs),
      static_cast<unsigned long long>(found.misspeculating),
      static_cast<unsigned long long>(found.stale_reads),
      static_cast<unsigned long long>(found.alarms), static_cast<unsigned long long>(found.aborts),
      static_cast<unsigned long long>(found.without_speculation),
      static_cast<unsigned long long>(found.points),
      static_cast<unsigned long long>(found.violating));
}

TEST(Misspeculation, IsRepairedInRandomPrograms) {
  const Found found = crash_regions(amount(20u, 80u, 200u), "1");
  report(found);
  EXPECT_EQ(found.violating, 0u) << found.explanation;
  EXPECT_GT(2 * found.misspeculating, found.programs);
  EXPECT_GT(found.aborts, found.programs);
  EXPECT_GT(found.without_speculation, 0u);
}

TEST(Misspeculation, IsRepairedOnFourControllers) {
  const Found found = crash_regions(amount(10u, 40u, 100u), "4");
  report(found);
  EXPECT_EQ(found.violating, 0u) << found.explanation;
  EXPECT_GT(2 * found.misspeculating, found.programs);
}

TEST(Misspeculation, LeavesStoresOutsideRegionsInOrder) {
  for (const std::string_view controllers : {"1", "4"}) {
    const Found found = crash_stores(amount(6u, 20u, 60u), controllers);
    report(found);
    EXPECT_EQ(found.violating, 0u) << found.explanation;
  }
}

// Number of programs that are tried for published rules and injected faults: the first program that
// shows a violation ends the search.
constexpr std::uint32_t kEnough = kSanitized ? 5 : 60;

void expect_violation(const Found& found, std::string_view explanation = "") {
  report(found);
  if (kSanitized) return;
  EXPECT_GT(found.violating, 0u);
  EXPECT_NE(found.explanation.find(explanation), std::string::npos) << found.explanation;
}

TEST(PublishedPmemSpec, RegionWithAStaleReadCommitsBeforeTheInterrupt) {
  const Found found = crash_regions(kEnough, "1", {{"pmem_spec.commit_check", "published"}});
  expect_violation(found, "read line");
}

// In these programs, windows as long as one idle path suffice, unless they keep running while a
// path is backed up. (The default is as long as all cores' paths.)
TEST(PmemSpecRunningWindows, MissesStaleReadsWhilePathsAreBackedUp) {
  const auto crashed = [](const char* windows) {
    const Found found = crash_regions(2 * kEnough, "1",
                                      {{"pmem_spec.backed_up_windows", windows},
                                       {"pm.wpq_entries", "2"},
                                       {"pm.write_latency", "2us"},
                                       {"pmem_spec.path_latency", "100ns"},
                                       {"pmem_spec.window", "100ns"}});
    return found;
  };
  EXPECT_EQ(crashed("stand-still").violating, 0u);
  expect_violation(crashed("go-on"));
}

TEST(PublishedPmemSpec, ReexecutedRegionHitsTheStaleLine) {
  const Found found = crash_regions(kEnough, "1", {{"pmem_spec.alarmed_lines", "published"}});
  expect_violation(found, "read line");
}

// 6.1.1: the hardware stores one address.
TEST(PublishedPmemSpec, SecondAlarmReplacesTheFirst) {
  const Found found = crash_regions(kEnough, "1", {{"pmem_spec.alarm_entries", "1"}});
  expect_violation(found, "read line");
}

// Thread 0 stores under a lock to more lines than the controller's queue holds, and then to A.
// Thread 1 reads A under the lock, and stores to B. Its persist path is empty, so that B arrives
// before A. All lines are cached before, so that only PM's writes are slow.
Found crash_read_after_write(std::string_view releases) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const std::uint32_t load = builder.site(trace::SiteKind::kLoad, 8, 1);
  const std::uint32_t store = builder.site(trace::SiteKind::kStore, 8, 1);
  constexpr std::uint64_t kA = kPmBase + (1 << 16), kB = kPmBase + (1 << 17);
  constexpr std::uint64_t kLines = 20;
  constexpr std::uint32_t kWhile = 1'000'000;  // instructions
  builder.thread(0);
  for (std::uint64_t line = 0; line < kLines; ++line) {
    builder.access(load, kPmBase + line * kLineBytes);
  }
  builder.access(load, kA);
  builder.external(kWhile);
  builder.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 0);
  for (std::uint64_t line = 0; line < kLines; ++line) {
    builder.store(store, kPmBase + line * kLineBytes, 1 + line);
  }
  builder.store(store, kA, 100);
  builder.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, 1);
  builder.thread(1);
  builder.access(load, kB);
  builder.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 1);
  builder.access(load, kA);
  builder.store(store, kB, 200);
  builder.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, 2);
  Found found;
  run_and_crash(builder,
                configure(settings({{"ordering", "pmem-spec"},
                                    {"atomicity", "none"},
                                    {"pm.device", "fixed"},
                                    {"pm.write_latency", "1us"},
                                    {"pm.wpq_entries", "2"},
                                    {"pmem_spec.releases", releases}})),
                found);
  return found;
}

TEST(PublishedPmemSpec, StoreOvertakesTheStoreThatItsThreadHasRead) {
  EXPECT_EQ(crash_read_after_write("wait").violating, 0u);
  const Found published = crash_read_after_write("published");
  report(published);
  EXPECT_EQ(published.violating, 1u);
  EXPECT_NE(published.explanation.find("depends on it"), std::string::npos)
      << published.explanation;
}

// Two regions with critical sections inside store to one word, and the store of the first is
// overtaken. Thread 1 stores after many stores of unchanged values, which overfill the controller's
// queue. Thread 0 logs and stores when it has the lock, and commits when the first region has
// ended. Recovery must undo thread 0's region first, and does.
class OvertakenStore : public LoggedProgram {
 public:
  OvertakenStore() : LoggedProgram(trace::ProgramLog::kUndo, 2) {
    builder.thread(1);
    for (std::uint64_t line = 1; line <= kLines; ++line) load(data(line));
    load_shared_and_log(1);
    lock(kUntilTheFirstIsOver);
    begin();
    log(1, {shared() / kLineBytes});
    builder.external(kWhile);  // the log is persistent
    for (std::uint64_t line = 1; line <= kLines; ++line) store(data(line), 0);
    lock(kShared);
    store(shared(), 100);
    unlock(kShared);
    end_region(1);
    unlock(kUntilTheFirstIsOver);
    builder.thread(0);
    load_shared_and_log(0);
    begin();
    lock(kShared);
    log(0, {shared() / kLineBytes});
    store(shared(), 200);
    unlock(kShared);
    lock(kUntilTheFirstIsOver);
    unlock(kUntilTheFirstIsOver);
    end_region(0);
  }

 private:
  static constexpr std::uint32_t kUntilTheFirstIsOver = 0, kShared = 1;  // locks
  static constexpr std::uint64_t kLines = 30;
  static constexpr std::uint32_t kWhile = 100'000;  // instructions

  std::uint64_t shared() const { return data(0); }
  // Loads the lines, so that they are in the caches when they are stored to.
  void load_shared_and_log(std::uint32_t thread) {
    load(shared());
    for (std::uint64_t line = 0; line < 2; ++line) load(log_of(thread) + line * kLineBytes);
  }
  void end_region(std::uint32_t thread) {
    flush(trace::Purpose::kDataFlush, trace::FenceMeaning::kOrder, {shared() / kLineBytes});
    commit(thread);
    end();
  }
};
Found crash_overtaken_store(const std::vector<KeyValue>& more) {
  OvertakenStore program;
  Found found;
  run_and_crash(program.builder,
                configure(settings({{"ordering", "pmem-spec"},
                                    {"atomicity", "software-undo"},
                                    {"pm.device", "fixed"},
                                    {"pm.write_latency", "1us"},
                                    {"pm.wpq_entries", "2"},
                                    {"pmem_spec.path_latency", "100ns"},
                                    {"pmem_spec.buffer_entries", "16"},
                                    {"pmem_spec.releases", "published"}},
                                   more)),
                found);
  return found;
}

class OvertakenStores : public testing::TestWithParam<std::vector<KeyValue>> {};
INSTANTIATE_TEST_SUITE_P(
    , OvertakenStores,
    testing::Values(
        std::vector<KeyValue>{}, std::vector<KeyValue>{{"pmem_spec.recovery", "eager"}},
        std::vector<KeyValue>{{"pmem_spec.retries", "0"}},
        std::vector<KeyValue>{{"pmem_spec.recovery", "eager"}, {"pmem_spec.retries", "0"}},
        // Thread 1 has its ID when it is taken off its core, behind its log.
        std::vector<KeyValue>{{"core.time_slice", "20ns"}, {"pmem_spec.inner_locks", "outer-id"}}));

TEST_P(OvertakenStores, RegionOfAnOvertakenStoreRollsBack) {
  const Found found = crash_overtaken_store(GetParam());
  report(found);
  EXPECT_EQ(found.missing_updates, 1u);
  EXPECT_GE(found.aborts, 2u);
  EXPECT_EQ(found.violating, 0u) << found.explanation;
}

TEST(PmemSpecWithoutSpeculationIds, OvertakenStoreIsAnUndetectedViolation) {
  const Found found = crash_overtaken_store({{"pmemsim.faults", "pmem_spec.tags"}});
  report(found);
  EXPECT_EQ(found.alarms, 0u);
  EXPECT_EQ(found.violating, 1u);
  EXPECT_NE(found.explanation.find("it should hold 0xc8"), std::string::npos) << found.explanation;
}
// Where releases wait, IDs detect no misspeculation, and no store is lost without IDs.
TEST(PmemSpecWithoutSpeculationIds, NoStoreIsLostIfReleasesWait) {
  for (const char* tags : {"", "pmem_spec.tags"}) {
    const std::vector<KeyValue> more{{"pmemsim.faults", tags}};
    for (const Found& found : {crash_regions(amount(6u, 20u, 60u), "1", more),
                               crash_stores(amount(6u, 20u, 60u), "1", more)}) {
      report(found);
      EXPECT_EQ(found.violating, 0u) << found.explanation;
      EXPECT_EQ(found.missing_updates, 0u);
    }
  }
  EXPECT_EQ(crash_overtaken_store({{"pmem_spec.releases", "wait"}}).alarms, 0u);
}

class BrokenPmemSpec : public testing::TestWithParam<const char*> {
 protected:
  std::string fault_ = "pmem_spec." + std::string(GetParam());
};
class BrokenPmemSpecInRegions : public BrokenPmemSpec {};
INSTANTIATE_TEST_SUITE_P(, BrokenPmemSpecInRegions,
                         testing::Values("detection", "window", "second_write_back", "early_store",
                                         "rollback"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(BrokenPmemSpecInRegions, CrashesRevealTheInjectedFault) {
  const Found found = crash_regions(kEnough, "1", {{"pmemsim.faults", fault_}});
  expect_violation(found);
}

// Few programs have write-backs and stores of one line in the order that this needs.
class BrokenSpeculationBuffer : public BrokenPmemSpec {};
INSTANTIATE_TEST_SUITE_P(, BrokenSpeculationBuffer,
                         testing::Values("second_write_back", "early_store"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(BrokenSpeculationBuffer, CrashesRevealMissedStaleReads) {
  const Found found = crash_regions(4 * kEnough, "1", {{"pmemsim.faults", fault_}});
  expect_violation(found, "read line");
}

// Regions wait for their stores in any case, before their commit and at their end. Regions of
// different threads have no lines in common.
class BrokenPmemSpecOutsideRegions : public BrokenPmemSpec {};
INSTANTIATE_TEST_SUITE_P(, BrokenPmemSpecOutsideRegions, testing::Values("barrier", "masks"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(BrokenPmemSpecOutsideRegions, CrashesRevealTheInjectedFault) {
  const Found found = crash_stores(kEnough, "1", {{"pmemsim.faults", fault_}});
  expect_violation(found);
}

TEST(UnorderedControllers, CrashesRevealTheInjectedFault) {
  const Found found = crash_regions(3 * kEnough, "4", {{"pmemsim.faults", "pmem_spec.order"}});
  expect_violation(found);
}

}  // namespace
}  // namespace pmemsim
