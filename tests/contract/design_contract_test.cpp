// The contract of every design, whatever its layers are: every legal combination of the registry
// runs random programs.
#include <gtest/gtest.h>

#include <algorithm>

#include "logged_regions.hpp"
#include "long_tests.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/combination.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "preparing_backend.hpp"
#include "random_trace.hpp"
#include "shared_regions.hpp"
#include "stress_settings.hpp"
#include "unchecked.hpp"

namespace pmemsim {
namespace {

using Layers = std::vector<Setting>;

std::vector<Layers> with_each(const std::vector<Layers>& some, Layer layer) {
  std::vector<Layers> all;
  for (const Layers& layers : some) {
    for (const Choice& choice : with_doubles()) {
      if (choice.layer() != layer) continue;
      all.push_back(layers);
      all.back().push_back(
          {std::string(choice.layer_name()), std::string(choice.name), "contract"});
    }
  }
  return all;
}

// The effect of an operation on a write doesn't depend on the ordering or the atomicity that sent
// it. The test doubles do everything that an operation may do, and are combined with all layers.
// Real operations are therefore combined only with x86 and every atomicity, and with two orderings
// past the caches. Layers that start operations early are combined with one of them.
bool is_tried(const Layers& layers) {
  const std::string& ordering = layers[0].value;
  const std::string& atomicity = layers[1].value;
  const std::string& backend = layers[2].value;
  const std::string& precompute = layers[3].value;
  if (backend == "none" || backend == "delaying" || backend == "preparing") return true;
  if (precompute != "none" && backend != "integrity") return false;
  // A path of lines for each access takes long, and does nothing to data.
  if (backend == "oram") return ordering == "x86" && atomicity == "none";
  const bool past_caches = ordering == "hops" || ordering == "pmem-spec";
  return ordering == "x86" || (past_caches && atomicity == "software-undo");
}

std::vector<Layers> find_legal_designs() {
  std::vector<Layers> all{{}};
  for (const Layer layer :
       {Layer::kOrdering, Layer::kAtomicity, Layer::kBackend, Layer::kPrecompute}) {
    all = with_each(all, layer);
  }
  std::erase_if(all, [](const Layers& layers) { return !is_tried(layers); });
  std::erase_if(all, [](const Layers& layers) {
    return !combination_problems(unchecked(layers, with_doubles()).blueprint()).empty();
  });
  return all;
}

// The legal designs are found once, because every suite below needs them, in every process that
// runs one.
const std::vector<Layers>& legal_designs() {
  static const std::vector<Layers> found = find_legal_designs();
  return found;
}

std::string name(const Layers& layers) {
  std::string text;
  for (const Setting& setting : layers) text += (text.empty() ? "" : "_") + setting.value;
  std::erase(text, '-');
  std::ranges::replace(text, ',', '_');
  return text;
}

// Where a line, its metadata and the place that it is put to lie: mostly in one channel, or in
// different ones.
constexpr std::string_view kPageSizes[] = {"4KiB", "64B"};

// Entries of the channel's write pending queue that can be reserved now.
std::uint32_t reservable(const Memory& memory, std::uint32_t channel) {
  std::uint32_t entries = 0;
  while (memory.can_reserve(channel, entries + 1)) ++entries;
  return entries;
}

class DesignContract : public testing::TestWithParam<Layers> {
 protected:
  // Small caches and queues, so that everything happens.
  static Configuration configuration(std::string_view page_size = kPageSizes[0],
                                     const Layers& layers = GetParam(),
                                     const std::vector<Setting>& stress = {}) {
    Layers list = settings({{"l1.size", "1KiB"},
                            {"l1.ways", "2"},
                            {"l2.size", "4KiB"},
                            {"l2.ways", "4"},
                            {"shared.size", "16KiB"},
                            {"shared.size_per_core", "0B"},
                            {"core.store_queue_entries", "8"},
                            {"core.mshrs", "4"},
                            {"pm.wpq_entries", "4"},
                            {"pm.min_writes_per_switch", "2"},
                            {"pm.page_size", page_size},
                            {"pm.controllers", "2"}});
    for (const auto* part : {&stress, &layers}) {
      list.insert(list.end(), part->begin(), part->end());
    }
    Configuration configuration = configure(list, with_doubles());
    // Every other program's pages lie anywhere, and its locks are ARM's.
    if (page_size != kPageSizes[0]) {
      configuration.core.lock_order = LockBarrier::kArm;
      configuration.pages.placement = PagePlacement::kRandom;
    }
    return configuration;
  }
  // Calls `crash(seed, configuration)` for each set of settings that makes structures
  // collide, except for sets that don't fit the design.
  template <class Crash>
  void crash_under_stress(Crash crash) {
    std::uint32_t sets = 0;
    // The short form runs one program for each set, with one kind of pages, and which one differs
    // between designs. A design runs every second set, with sanitizers every third.
    auto number = static_cast<std::uint32_t>(name(GetParam()).size());
    for (const StressSet& set : stress_sets()) {
      const std::uint32_t turn = number++;
      if (turn % amount(3u, 2u, 1u) != 0) continue;
      const std::uint32_t first = long_tests() ? 1 : 1 + turn % kPrograms;
      const std::uint32_t last = long_tests() ? kPrograms : first;
      try {
        for (std::uint32_t seed = first; seed <= last; ++seed) {
          const Configuration stressed = configuration(page_size(seed), GetParam(), set.settings);
          EXPECT_EQ(crash(seed, stressed).problem, "") << set.name << ", " << seed;
        }
        ++sets;
      } catch (const ConfigError&) {  // it doesn't go with the design
      }
    }
    EXPECT_GE(sets, amount(1u, 2u, 4u));
  }
  static std::string_view page_size(std::uint32_t seed) {
    return kPageSizes[seed % std::size(kPageSizes)];
  }
  // The log form of a recording that the design runs.
  static trace::ProgramLog log(const Layers& layers = GetParam()) {
    return unchecked(layers, with_doubles()).design.atomicity().log;
  }
  static std::string pool() {
    return log() == trace::ProgramLog::kRedo ? std::string(trace::kRedoPool) : "test";
  }
  static RandomTraceOptions program(std::uint32_t seed) {
    return {.seed = seed,
            .threads = 1 + seed % 4,
            .operations = 2000,
            .lines = 100,
            .pm_source = pool()};
  }
  // True for orderings that send stores past the caches, whose dirty lines they drop.
  static bool sends_stores_itself(const Configuration& configuration) {
    const auto& ordering = std::get<Choice::MakeOrdering>(configuration.design.ordering().make);
    return !ordering(configuration.blueprint())->may_leave(Line::of(kPmBase));
  }
  static std::vector<Statistic> statistics(const Machine& machine) {
    StatisticsCollector collector;
    machine.describe_statistics(collector);
    return std::move(collector.found);
  }
  // The statistics do not contradict each other. Nothing is left out of those that add up, except
  // by the backends of these tests, which count no metadata.
  static void expect_no_contradiction(const Machine& machine) {
    StatisticsCollector collector;
    machine.describe_statistics(collector);
    EXPECT_GE(collector.relations(), 160u);
    const std::string& backend = GetParam()[2].value;
    const bool own = backend != "delaying" && backend != "preparing";
    EXPECT_NO_THROW(collector.check(own ? Origins::kAll : Origins::kSome));
  }
  static constexpr std::uint32_t kPrograms = 2;
  // A design runs one of the two programs, and which one differs between designs. The long form
  // runs both.
  const std::uint32_t first_ =
      long_tests() ? 1 : 1 + static_cast<std::uint32_t>(name(GetParam()).size()) % kPrograms;
  const std::uint32_t last_ = long_tests() ? kPrograms : first_;
};
INSTANTIATE_TEST_SUITE_P(Every, DesignContract, testing::ValuesIn(legal_designs()),
                         [](const auto& info) { return name(info.param); });

// A layer that only observes stores does not change the time of a run. (Backends delay what the
// caches write back. Orderings with a path of their own hold stores back when that is full.)
TEST_P(DesignContract, LayerThatOnlyObservesStoresTakesNoTime) {
  const Configuration design = configuration();
  if (!design.design.operations().empty() || sends_stores_itself(design)) return;
  const Configuration none =
      configuration(kPageSizes[0], settings({{"ordering", "none"}, {"atomicity", "none"}}));
  for (std::uint32_t seed = 0; seed < kPrograms; ++seed) {
    RandomTraceOptions options = program(seed);
    options.persists = false;
    RandomTrace random(options);
    const TemporaryTrace temporary(random.builder);
    const trace::TraceFile file(temporary.path());
    options.pm_source = "test";
    RandomTrace same(options);
    const TemporaryTrace temporary_same(same.builder);
    const trace::TraceFile file_same(temporary_same.path());
    Machine machine(design, file), bare(none, file_same);
    EXPECT_TRUE(machine.run({}));
    EXPECT_TRUE(bare.run({}));
    EXPECT_EQ(machine.end(), bare.end());
  }
}

// A program without persistent memory takes no more time with a design's layers. If it flushes and
// fences, it is compared with the design's ordering alone: the ordering decides whether flushes and
// fences are part of the program. Where they are, fences wait for flushes of DRAM, too. Regions are
// left out, because their begin and end take time in hardware whatever they store. The latency that
// an ordering adds to each line's way to a core, or to taking a lock, is left out, too. An ordering
// that sends stores itself checks what is handed over to other threads at its own times, and is
// compared with itself alone.
TEST_P(DesignContract, ProgramWithoutPersistentMemoryTakesNoMoreTime) {
  if (log() == trace::ProgramLog::kRedo) return;  // there is no redo log without it
  for (const bool persists : {false, true}) {
    RandomTraceOptions options = program(1);
    options.pm = false;
    options.persists = persists;
    options.regions = false;
    RandomTrace random(options);
    const TemporaryTrace temporary(random.builder);
    const trace::TraceFile file(temporary.path());
    const bool itself = persists || sends_stores_itself(configuration());
    const std::string ordering = itself ? GetParam().front().value : "none";
    const std::vector<Setting> nothing_added = settings({{"dpo.snoop_latency", "0cycles"},
                                                         {"hops.sticky_latency", "0cycles"},
                                                         {"pmem_spec.assign_latency", "0ns"}});
    Machine machine(configuration(kPageSizes[0], GetParam(), nothing_added), file);
    Machine bare(
        configuration(kPageSizes[0], settings({{"ordering", ordering}, {"atomicity", "none"}}),
                      nothing_added),
        file);
    EXPECT_TRUE(machine.run({}));
    EXPECT_TRUE(bare.run({}));
    EXPECT_EQ(machine.end(), bare.end()) << (persists ? "with" : "without") << " fences";
  }
}

void expect_drained(const Machine& machine, std::uint32_t entries) {
  for (const auto& core : machine.cores()) EXPECT_TRUE(core->finished());
  EXPECT_EQ(machine.design().pending(), "");
  for (const std::uint32_t channel : {0u, 1u}) {
    EXPECT_EQ(reservable(machine.pm(), channel), entries) << "nothing stays reserved";
  }
  for (const Memory* memory : {&machine.pm(), &machine.dram()}) {
    EXPECT_TRUE(memory->idle()) << memory->describe_pending();
    const MemoryStatistics& counted = memory->statistics();
    // accepted = written + merged + dropped, with nothing pending
    EXPECT_EQ(counted.all_writes(),
              counted.all_lines_written() + counted.writes_merged + counted.writes_dropped);
  }
}

void expect_causes_to_add_up(const Machine& machine) {
  for (const auto& core : machine.cores()) {
    EXPECT_EQ(core->clock().time(core->account().total()), core->end());
  }
}

// Every run starts with zero statistics, drains completely, and conserves all writes. Two runs of a
// trace have equal statistics.
TEST_P(DesignContract, RunDrainsCompletelyAndIsReproducible) {
  for (std::uint32_t seed = first_; seed <= last_; ++seed) {
    RandomTrace random(program(seed));
    const TemporaryTrace temporary(random.builder);
    const trace::TraceFile file(temporary.path());
    std::vector<std::vector<Statistic>> results;
    for (int run = 0; run < 2; ++run) {
      Machine machine(configuration(page_size(seed)), file);
      for (const Statistic& fresh : statistics(machine)) EXPECT_EQ(fresh.value, 0) << fresh.name;
      const std::uint32_t entries = reservable(machine.pm(), 0);
      EXPECT_TRUE(machine.run({}));
      expect_drained(machine, entries);
      expect_causes_to_add_up(machine);
      expect_no_contradiction(machine);
      results.push_back(statistics(machine));
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      EXPECT_EQ(results[0][i].value, results[1][i].value) << results[0][i].name;
    }
  }
}

// A design without Janus runs a program with hints in the same time as the program without hints.
TEST_P(DesignContract, HintsCostNothingWithoutJanus) {
  if (GetParam()[3].value == "janus") return;  // programs pay for its calls
  const auto simulated = [](bool hints) {
    trace::TraceBuilder builder;
    builder.pm_region(kPmBase, kPmBase + 4096, pool());
    const std::uint32_t store = builder.site(trace::SiteKind::kStore, 8, 5);
    for (std::uint64_t region = 0; region < 20; ++region) {
      builder.mark(trace::MarkKind::kRegionBegin, 1);
      if (hints) {
        builder.mark(trace::MarkKind::kHintData, region, 0);
        builder.mark(trace::MarkKind::kHint, kPmBase + 64 * region, 16);
      }
      builder.store(store, kPmBase + 64 * region, region);
      builder.mark(trace::MarkKind::kRegionEnd, 1);
    }
    const TemporaryTrace temporary(builder);
    const trace::TraceFile file(temporary.path());
    Machine machine(configuration(), file);
    machine.run({});
    return statistics(machine);
  };
  const std::vector<Statistic> with = simulated(true), without = simulated(false);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(with[i].value, without[i].value) << with[i].name;
  }
}

TEST_P(DesignContract, UnsealedRunTakesTheSameTime) {
  RandomTrace random(
      {.seed = 3, .threads = 2, .operations = 600, .lines = 40, .pm_source = pool()});
  const TemporaryTrace temporary(random.builder);
  const trace::TraceFile file(temporary.path());
  Machine sealed(configuration(), file), unsealed(configuration(), file);
  sealed.format();
  unsealed.skip_sealing();
  sealed.run({});
  unsealed.run({});
  const std::vector<Statistic> with = statistics(sealed), without = statistics(unsealed);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(with[i].value, without[i].value) << with[i].name;
  }
}

// Backends and precompute layers have no part in stopping a run, which takes long until the first
// report.
std::vector<Layers> designs_without_backend() {
  std::vector<Layers> all = legal_designs();
  std::erase_if(all, [](const Layers& layers) { return layers[2].value != "none"; });
  return all;
}

class StoppedRun : public DesignContract {};
INSTANTIATE_TEST_SUITE_P(WithoutBackend, StoppedRun, testing::ValuesIn(designs_without_backend()),
                         [](const auto& info) { return name(info.param); });

TEST_P(StoppedRun, EndsWhenTheCallbackReturnsFalse) {
  // Long, so that there is a report before its end; written once for all designs of a log.
  static std::map<std::string, TemporaryTrace> traces;
  if (!traces.contains(pool())) {
    RandomTrace random(
        {.seed = 9, .threads = 4, .operations = 40000, .lines = 100, .pm_source = pool()});
    traces.try_emplace(pool(), random.builder);
  }
  const TemporaryTrace& temporary = traces.at(pool());
  const trace::TraceFile file(temporary.path());
  Machine machine(configuration(), file);
  int reports = 0;
  EXPECT_FALSE(machine.run([&](double share) {
    EXPECT_GT(share, 0);
    EXPECT_LT(share, 1);
    ++reports;
    return false;
  }));
  EXPECT_EQ(reports, 1);
}

// Adds designs with the operations preparing and delaying instead of preparing alone. The second
// operation's encoding must be undone first.
void add_lists_of_two(std::vector<Layers>& all) {
  std::vector<Layers> of_two;
  for (Layers layers : all) {
    const auto preparing = std::ranges::find(layers, "preparing", &Setting::value);
    if (preparing == layers.end()) continue;
    preparing->value = "preparing,delaying";
    of_two.push_back(layers);
  }
  all.insert(all.end(), of_two.begin(), of_two.end());
}

// Designs that guarantee something to a program with a log of its own, or without a log.
std::vector<Layers> promising_designs(bool software_log) {
  std::vector<Layers> all = legal_designs();
  std::erase_if(all, [&](const Layers& layers) {
    const DesignConfiguration design = unchecked(layers, with_doubles()).design;
    return !design.promises().any() ||
           design.atomicity().name.starts_with("software-") != software_log;
  });
  add_lists_of_two(all);
  return all;
}

class CrashContract : public DesignContract {};
INSTANTIATE_TEST_SUITE_P(Every, CrashContract, testing::ValuesIn(promising_designs(false)),
                         [](const auto& info) { return name(info.param); });

TEST_P(CrashContract, SurvivesEveryCrash) {
  for (std::uint32_t seed = first_; seed <= last_; ++seed) {
    const SharedRun run =
        crash_shared({.seed = seed, .threads = 1 + seed % 4}, configuration(page_size(seed)));
    EXPECT_EQ(run.problem, "") << seed;
    EXPECT_GT(run.crashes, 100);
  }
}

TEST_P(CrashContract, SurvivesEveryCrashUnderStress) {
  crash_under_stress([](std::uint32_t seed, const Configuration& configuration) {
    return crash_shared({.seed = seed, .threads = 1 + seed % 4, .regions = 30}, configuration);
  });
}

class SoftwareLogContract : public DesignContract {};
INSTANTIATE_TEST_SUITE_P(Every, SoftwareLogContract, testing::ValuesIn(promising_designs(true)),
                         [](const auto& info) { return name(info.param); });

TEST_P(SoftwareLogContract, SurvivesEveryCrash) {
  for (std::uint32_t seed = first_; seed <= last_; ++seed) {
    LoggedRegions program(log(), seed, 1 + seed % 4, 30);
    const SharedRun run = crash_program(program.builder, configuration(page_size(seed)));
    EXPECT_EQ(run.problem, "") << seed;
    EXPECT_GT(run.crashes, 100u);
    EXPECT_GT(run.undone, 20u);
  }
}

TEST_P(SoftwareLogContract, SurvivesEveryCrashUnderStress) {
  crash_under_stress([](std::uint32_t seed, const Configuration& configuration) {
    LoggedRegions program(log(), seed, 1 + seed % 4, 15);
    return crash_program(program.builder, configuration);
  });
}

// With selective metadata atomicity, a line's entry is written later than its data. Here lines are
// also evicted within regions, while their flushes are in flight.
class SelectiveMetadata : public testing::TestWithParam<std::string_view> {
 protected:
  SharedRun run(std::uint32_t seed, std::string_view wpq_entries, std::string_view defect) const {
    Layers list = settings(
        {{"atomicity", GetParam()},
         {"backend", seed % 2 == 0 ? "encryption,integrity" : "deduplication,encryption,integrity"},
         {"backend.metadata_atomicity", "selective"},
         {"counter_cache.size_per_core", "256B"},
         {"counter_cache.ways", "2"},
         {"l1.size", "256B"},
         {"l1.ways", "2"},
         {"l2.size", "0B"},
         {"shared.size", "1KiB"},
         {"shared.size_per_core", "0B"},
         {"shared.ways", "2"},
         {"pm.wpq_entries", wpq_entries},
         {"pm.controllers", "2"}});
    if (!defect.empty())
      list.push_back({"pmemsim.faults", "backend." + std::string(defect), "test"});
    const Configuration configuration = configure(list);
    if (GetParam() != "software-undo") {
      return crash_shared({.seed = seed, .threads = 1 + seed % 4}, configuration);
    }
    LoggedRegions program(trace::ProgramLog::kUndo, seed, 1 + seed % 4, 30);
    return crash_program(program.builder, configuration);
  }
};
INSTANTIATE_TEST_SUITE_P(Of, SelectiveMetadata,
                         testing::Values("software-undo", "hw-undo", "asap", "hw-redo", "lad"));

TEST_P(SelectiveMetadata, SurvivesEveryCrash) {
  const std::uint32_t programs = amount(3u, 8u, 24u);
  for (std::uint32_t seed = 1; seed <= programs; ++seed) {
    for (const std::string_view wpq_entries : {"4", "32"}) {
      const SharedRun run = this->run(seed, wpq_entries, "");
      EXPECT_EQ(run.problem, "") << seed << " " << wpq_entries;
      EXPECT_GT(run.crashes, 100u);
    }
  }
}

// The other atomicities write all metadata through.
class DeferredMetadata : public SelectiveMetadata {};
INSTANTIATE_TEST_SUITE_P(Of, DeferredMetadata, testing::Values("software-undo", "hw-undo"));

TEST_P(DeferredMetadata, CrashesRevealInjectedFaults) {
  for (const std::string_view defect : {"publication", "log_entries"}) {
    bool found = false;
    for (std::uint32_t seed = 1; seed <= 6 && !found; ++seed) {
      found = !run(seed, "32", defect).problem.empty();
    }
    EXPECT_TRUE(found) << defect;
  }
}

// A program with a faulty log has violations, so the tests above are meaningful.
bool goes_wrong(trace::ProgramLog log, const std::string& atomicity, const std::string& defect) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    LoggedRegions program(log, seed, 2, 30);
    Layers list = settings({{"atomicity", atomicity},
                            {"backend", "delaying"},
                            {"pm.wpq_entries", "2"},
                            {"pm.controllers", "2"}});
    list.push_back({"pmemsim.faults", defect, "contract"});
    if (!crash_program(program.builder, configure(list, with_doubles())).problem.empty()) {
      return true;
    }
  }
  return false;
}

TEST(SoftwareLog, CrashesRevealMissingUndoLogSteps) {
  for (const std::string defect :
       {"log_flush", "log_fence", "data_flush", "data_fence", "commit_flush"}) {
    EXPECT_TRUE(goes_wrong(trace::ProgramLog::kUndo, "software-undo", "software_undo." + defect))
        << defect;
  }
}

TEST(SoftwareLog, CrashesRevealMissingRedoLogSteps) {
  for (const std::string defect : {"log_flush", "log_fence", "commit_flush", "commit_fence",
                                   "data_flush", "data_fence", "release_flush", "release_fence"}) {
    EXPECT_TRUE(goes_wrong(trace::ProgramLog::kRedo, "software-redo", "software_redo." + defect))
        << defect;
  }
}

// Each injected fault of the backend's write path is revealed in at least one design, and no run
// without a fault shows a violation. The long form runs three programs without a fault instead of
// one.
class BackendContract : public testing::TestWithParam<std::string_view> {
 protected:
  struct Operations {
    std::string_view backend, precompute;
  };

  static bool goes_wrong(std::string_view defect, std::string_view wpq_entries,
                         const Operations& operations) {
    const std::uint32_t programs = defect.empty() && !long_tests() ? 1 : 3;
    for (std::uint32_t seed = 1; seed <= programs; ++seed) {
      for (const std::string_view atomicity : {"none", "hw-undo", "hw-redo", "asap", "lad"}) {
        Layers list = settings({{"atomicity", atomicity},
                                {"backend", operations.backend},
                                {"precompute", operations.precompute},
                                {"l1.size", "256B"},
                                {"l1.ways", "2"},
                                {"l2.size", "0B"},
                                {"shared.size", "2KiB"},
                                {"shared.size_per_core", "0B"},
                                {"pm.wpq_entries", wpq_entries},
                                {"pm.page_size", GetParam()},
                                {"pm.controllers", "2"}});
        if (!defect.empty()) {
          list.push_back({"pmemsim.faults", "backend." + std::string(defect), "contract"});
        }
        const SharedRun run =
            crash_shared({.seed = seed, .threads = 2}, configure(list, with_doubles()));
        if (!run.problem.empty()) return true;
      }
    }
    return false;
  }
};
INSTANTIATE_TEST_SUITE_P(PageSizes, BackendContract, testing::ValuesIn(kPageSizes),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(BackendContract, CrashesRevealEveryInjectedWriteFault) {
  const Operations delaying{"delaying", "none"};
  for (const std::string_view wpq_entries : {"2", "8"}) {
    EXPECT_FALSE(goes_wrong("", wpq_entries, delaying));
  }
  for (const std::string_view defect : {"order", "metadata", "reserved"}) {
    EXPECT_TRUE(goes_wrong(defect, "8", delaying)) << defect;
  }
  // This fault shows only where writes wait for room in their queue. They rarely do when every line
  // is in the other channel than the one before.
  if (GetParam() == kPageSizes[0]) {
    EXPECT_TRUE(goes_wrong("registers", "2", delaying));
  }
}

TEST_P(BackendContract, CrashesRevealEveryInjectedPredictionFault) {
  for (const std::string_view backend : {"preparing", "preparing,delaying"}) {
    const Operations preparing{backend, "random"};
    for (const std::string_view wpq_entries : {"3", "8"}) {
      EXPECT_FALSE(goes_wrong("", wpq_entries, preparing)) << backend;
    }
    for (const std::string_view defect : {"prepared_line", "prepared_data", "metadata_changed"}) {
      EXPECT_TRUE(goes_wrong(defect, "8", preparing)) << backend << ": " << defect;
    }
  }
}

// Each prediction has exactly one outcome, and every possible outcome occurs. (No prediction is
// made after a thread's end, so that none is open at the end of the run.)
TEST(PredictionContract, EveryPredictionHasOneOutcome) {
  std::map<Fate, std::uint64_t> outcomes;
  std::uint64_t late = 0;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SharedRegions program({.seed = seed, .threads = 4});
    const TemporaryTrace temporary(program.builder);
    const trace::TraceFile file(temporary.path());
    Machine machine(
        configure(
            settings({{"atomicity", "none"}, {"backend", "preparing"}, {"precompute", "random"}}),
            with_doubles()),
        file);
    EXPECT_TRUE(machine.run({}));
    const auto& random = dynamic_cast<const RandomPrecompute&>(machine.design().precompute());
    EXPECT_EQ(random.wrong_outcomes(), 0u);
    for (const auto& [fate, count] : random.outcomes()) outcomes[fate] += count;
    late += random.late();
  }
  for (const Fate fate : {Fate::kUsed, Fate::kUsedInPart, Fate::kTakenBack, Fate::kThreadEnded,
                          Fate::kRangeDiscarded, Fate::kMetadataChanged, Fate::kTooOld}) {
    EXPECT_GT(outcomes[fate], 0u) << static_cast<int>(fate);
  }
  EXPECT_GT(late, 0u);
  EXPECT_GT(outcomes[Fate::kUsed], late) << "some are in time";
}

}  // namespace
}  // namespace pmemsim
