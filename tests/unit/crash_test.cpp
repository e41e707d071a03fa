// The crash engine: the points that it visits, and that it finds violations.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "long_tests.hpp"
#include "pmemsim/crash/crash.hpp"
#include "pmemsim/crash/crash_image.hpp"
#include "pmemsim/crash/explanation.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "shared_regions.hpp"
#include "unit/crash_machine.hpp"

namespace pmemsim {
namespace {

CrashResult crash_it(std::vector<KeyValue> design, const CrashOptions& options = {}) {
  SharedRegions program({.seed = 1, .threads = 3, .regions = 60});
  const TemporaryTrace temporary(program.builder);
  design.insert(design.begin(), {"core.count", "3"});
  return crash(trace::TraceFile(temporary.path()), crash_configuration(design), options, {});
}

// Builds a program that flushes its own stores.
struct Flushing {
  Flushing() { builder.pm_region(kPmBase, kPmBase + (1 << 20)); }
  trace::TraceBuilder builder;
  const std::uint32_t store = builder.site(trace::SiteKind::kStore, 8, 1);
  const std::uint32_t clwb = builder.site(trace::SiteKind::kFlush);
  const std::uint32_t sfence = builder.site(trace::SiteKind::kFence);
};

// A region that writes two words of a line, and no log.
CrashResult crash_without_log(std::string_view persistence,
                              std::initializer_list<KeyValue> others = {},
                              const CrashOptions& options = {}) {
  Flushing program;
  auto& [builder, store, clwb, sfence] = program;
  builder.thread(0);
  builder.mark(trace::MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase, 1);
  builder.store(store, kPmBase + 8, 2);
  builder.access(clwb, kPmBase);
  builder.plain(sfence);
  builder.mark(trace::MarkKind::kRegionEnd, 1);
  const TemporaryTrace temporary(builder);
  return crash(trace::TraceFile(temporary.path()),
               configure(settings({{"ordering", "x86"},
                                   {"atomicity", "software-undo"},
                                   {"core.count", "1"},
                                   {"pm.persistence", persistence}},
                                  others)),
               options, {});
}

TEST(Crash, EveryCrashPointIsVisited) {
  const CrashResult all = crash_it({{"atomicity", "hw-undo"}});
  EXPECT_GT(all.points, 200);
  EXPECT_EQ(all.points, all.all_points);
  EXPECT_EQ(all.images, all.points + 60);  // again when each region becomes durable
  EXPECT_EQ(all.violations, 0);
  EXPECT_FALSE(all.explanation);
}

// Nothing persists, so there is no crash point; yet the design has guaranteed the region.
TEST(Crash, ImageIsCheckedAgainWhenMoreIsGuaranteed) {
  const CrashResult flushed = crash_without_log("accepted");
  EXPECT_EQ(flushed.points, 1);
  EXPECT_EQ(flushed.violations, 0);
  const CrashResult lost = crash_without_log("accepted", {{"pmemsim.faults", "x86.flush"}});
  EXPECT_EQ(lost.points, 0);
  EXPECT_EQ(lost.violations, 1);
  ASSERT_TRUE(lost.explanation);
  const CrashResult again = crash_without_log("accepted", {{"pmemsim.faults", "x86.flush"}},
                                              {.at = lost.explanation->when});
  ASSERT_TRUE(again.explanation);
  EXPECT_EQ(again.explanation->lines, lost.explanation->lines);
  EXPECT_EQ(lost.explanation->lines.at(2), "recovery found this value and kept it");
  EXPECT_EQ(lost.explanation->lines.at(4), "and region 1 of thread 0 was guaranteed to survive");
  EXPECT_NE(lost.explanation->lines.back().find("region 1 of thread 0 is guaranteed to survive"),
            std::string::npos);
}

TEST(Crash, SampleHasTheRequestedNumberOfPoints) {
  const CrashResult all = crash_it({{"atomicity", "asap"}});
  const CrashResult some = crash_it({{"atomicity", "asap"}}, {.sample = 50, .seed = 3});
  EXPECT_EQ(some.points, 50);
  EXPECT_EQ(some.all_points, all.all_points);
  EXPECT_EQ(crash_it({{"atomicity", "asap"}}, {.sample = 1u << 20}).points, all.points);
}

TEST(Crash, SampleCoversTheWholeRun) {
  std::uint64_t latest = 0, of = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const CrashResult one = crash_it({{"atomicity", "hw-undo"}, {"pmemsim.faults", "log.order"}},
                                     {.sample = 1, .seed = seed});
    of = one.all_points;
    if (one.explanation) latest = std::max(latest, one.explanation->point);
  }
  EXPECT_GT(latest, of / 2);
}

// Returns a hash that is the same for equal images.
std::size_t hash_of(const Image& image) {
  std::size_t hash = 0;
  image.for_each_page([&](std::uint64_t address, const std::byte* page) {
    const std::string bytes(reinterpret_cast<const char*>(page), Image::kPageBytes);
    hash += std::hash<std::string>()(std::to_string(address) + bytes);
  });
  return hash;
}

// Returns one verdict for all images, or for the image with the number `only`.
class OtherChecker final : public ExternalChecker {
 public:
  explicit OtherChecker(std::string says, std::optional<std::uint64_t> only = {})
      : says_(std::move(says)), only_(only) {}
  void show(const Image& image) override {
    ++shown;
    hashes.push_back(hash_of(image));
  }
  std::map<std::uint64_t, std::string> wrong() override {
    std::map<std::uint64_t, std::string> found;
    for (std::uint64_t number = 0; number < shown && !says_.empty(); ++number) {
      if (!only_ || number == *only_) found[number] = says_;
    }
    return found;
  }
  std::uint64_t shown = 0;
  std::vector<std::size_t> hashes;

 private:
  const std::string says_;
  const std::optional<std::uint64_t> only_;
};

TEST(Crash, CrashAtATimeChecksTheLastPointsBeforeIt) {
  const CrashResult one = crash_it({{"atomicity", "hw-redo"}}, {.at = Time{10'000'000}});
  EXPECT_GE(one.points, 1);
  EXPECT_LT(one.points, 10);
  EXPECT_LT(one.images, 2 * one.points) << "guarantees after that time don't count";
  EXPECT_THROW(crash_it({{"atomicity", "hw-redo"}}, {.at = Time{1}}), ConfigError);
}

TEST(Crash, CrashAtATimeShowsAllItsImages) {
  OtherChecker checker("it is wrong");
  const CrashOptions options{
      .at = Time{10'000'000}, .external_checker = &checker, .inspections = 1};
  const CrashResult result = crash_it({{"atomicity", "hw-redo"}}, options);
  EXPECT_EQ(result.inspected, result.points);
  EXPECT_EQ(result.violations, result.points);
}

// The subset of lines that count as written back depends on the crash point alone, not on the
// points before.
TEST(Crash, ViolationInASubsetIsFoundAgainAtItsTime) {
  const std::vector<KeyValue> design{{"atomicity", "asap"}, {"pmemsim.faults", "asap.lock_bit"}};
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CrashOptions options{.seed = seed, .subsets = 2};
    const CrashResult all = crash_it(design, options);
    ASSERT_TRUE(all.explanation);
    EXPECT_TRUE(
        all.explanation->lines.at(1).starts_with("if the caches had just written back lines"));
    options.at = all.explanation->when;
    const CrashResult again = crash_it(design, options);
    ASSERT_TRUE(again.explanation);
    EXPECT_EQ(again.explanation->lines, all.explanation->lines) << "seed " << seed;
  }
}

// Two of the dirty lines belong to a region without a log, so that an image with one of them alone
// is wrong. At each of many points, one other image is tried.
CrashResult crash_with_a_region_that_has_no_log(std::uint64_t seed) {
  constexpr std::uint64_t kLines = 12, kPoints = 100;
  Flushing program;
  auto& [builder, store, clwb, sfence] = program;
  builder.thread(0);
  for (std::uint64_t line = 0; line < kLines; ++line) {
    builder.store(store, kPmBase + line * kLineBytes, 1);
  }
  builder.thread(1);
  for (std::uint64_t point = 0; point < kPoints; ++point) {
    builder.store(store, kPmBase + 2 * kLines * kLineBytes, point);
    builder.access(clwb, kPmBase + 2 * kLines * kLineBytes);
    builder.plain(sfence);
  }
  builder.thread(2);
  builder.mark(trace::MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase + kLines * kLineBytes, 1);
  builder.store(store, kPmBase + (kLines + 1) * kLineBytes, 2);
  const TemporaryTrace temporary(builder);
  return crash(trace::TraceFile(temporary.path()),
               configure(settings({{"ordering", "x86"}, {"atomicity", "software-undo"}}, {})),
               {.seed = seed, .subsets = 1}, {});
}

TEST(Crash, SubsetsDifferBetweenPoints) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    EXPECT_GT(crash_with_a_region_that_has_no_log(seed).violations, 0) << "seed " << seed;
  }
}

// Returns everything that a run reports, except its duration.
std::vector<std::string> report_of(const CrashResult& result) {
  std::vector<std::string> report;
  for (const std::uint64_t count :
       {result.points, result.all_points, result.images, result.repaired, result.restarts,
        result.inspected, result.different, result.violations}) {
    report.push_back(std::to_string(count));
  }
  if (!result.explanation) return report;
  report.push_back(std::to_string(result.explanation->point));
  report.insert(report.end(), result.explanation->lines.begin(), result.explanation->lines.end());
  return report;
}

// Crashes a run that has more points than two slices of a part.
CrashResult crash_long_run(std::vector<KeyValue> design, const CrashOptions& options) {
  SharedRegions program({.seed = 2, .threads = 3, .regions = 700});
  const TemporaryTrace temporary(program.builder);
  design.insert(design.begin(), {"core.count", "3"});
  return crash(trace::TraceFile(temporary.path()), crash_configuration(design), options, {});
}

TEST(Crash, PartsOfARunHaveTheResultsOfTheWholeRun) {
  const std::vector<std::vector<KeyValue>> designs{
      {{"atomicity", "asap"}},
      {{"atomicity", "hw-redo"}},
      {{"atomicity", "hw-undo"}, {"pmemsim.faults", "log.order"}},
      {{"atomicity", "asap"}, {"pmemsim.faults", "asap.lock_bit"}}};
  for (const std::vector<KeyValue>& design : designs) {
    const CrashResult whole = crash_long_run(design, {.subsets = 1});
    EXPECT_GT(whole.points, 3 * 2048);
    EXPECT_EQ(whole.violations > 0, design.size() == 2);
    for (const std::uint32_t parts : {2u, 5u}) {
      EXPECT_EQ(report_of(crash_long_run(design, {.subsets = 1, .parts = parts})),
                report_of(whole));
    }
  }
}

TEST(Crash, PartsOfARunShareTheUserChecker) {
  for (const std::uint32_t parts : {1u, 3u}) {
    OtherChecker checker("the queue is broken");
    const CrashResult result =
        crash_long_run({{"atomicity", "hw-redo"}},
                       {.parts = parts, .external_checker = &checker, .inspections = 50});
    EXPECT_EQ(checker.shown, 50);
    EXPECT_EQ(result.inspected, 50);
    EXPECT_EQ(result.violations, 50);
    ASSERT_TRUE(result.explanation);
    EXPECT_EQ(result.explanation->point, result.all_points / 50);
  }
}

TEST(Crash, VerdictOfTheUserCheckerIsReported) {
  OtherChecker checker("the queue is broken", 2);
  const CrashOptions options{.external_checker = &checker, .inspections = 5};
  const CrashResult result = crash_it({{"atomicity", "lad"}}, options);
  EXPECT_EQ(checker.shown, 5);
  EXPECT_EQ(result.inspected, 5);
  EXPECT_EQ(result.violations, 1);
  ASSERT_TRUE(result.explanation);
  EXPECT_EQ(result.explanation->lines.back(), "the queue is broken");
}

TEST(Crash, FirstImageThatTheUserCheckerRejectsIsSaved) {
  OtherChecker checker("the queue is broken", 2);
  std::vector<std::size_t> kept;
  const CrashOptions options{.external_checker = &checker,
                             .inspections = 5,
                             .keep = [&](const Image& image) { kept.push_back(hash_of(image)); }};
  crash_it({{"atomicity", "lad"}}, options);
  EXPECT_EQ(kept, std::vector{checker.hashes.at(2)});
  EXPECT_EQ(std::ranges::count(checker.hashes, kept.at(0)), 1);
}

TEST(Crash, LastImageOfATimeIsSavedIfNoneIsWrong) {
  for (const std::string says : {"", "it is wrong"}) {
    OtherChecker checker(says);
    std::size_t kept = 0;
    const CrashOptions options{.at = Time{10'000'000},
                               .external_checker = &checker,
                               .inspections = 1,
                               .keep = [&](const Image& image) { kept = hash_of(image); }};
    crash_it({{"atomicity", "hw-redo"}}, options);
    EXPECT_EQ(kept, says.empty() ? checker.hashes.back() : checker.hashes.front());
  }
}

TEST(Crash, FirstImageThatTheOracleRejectsIsSaved) {
  std::vector<std::size_t> kept;
  CrashOptions options{.subsets = 2,
                       .keep = [&](const Image& image) { kept.push_back(hash_of(image)); }};
  EXPECT_FALSE(crash_it({{"atomicity", "asap"}}, options).explanation);
  EXPECT_TRUE(kept.empty());
  const std::vector<std::pair<std::string, std::string>> mutants{{"asap", "asap.lock_bit"},
                                                                 {"hw-undo", "log.commit"}};
  for (const auto& [design, mutant] : mutants) {
    kept.clear();
    options.at.reset();
    const CrashResult all = crash_it({{"atomicity", design}, {"pmemsim.faults", mutant}}, options);
    ASSERT_TRUE(all.explanation) << mutant;
    ASSERT_EQ(kept.size(), 1u) << mutant;
    options.at = all.explanation->when;
    crash_it({{"atomicity", design}, {"pmemsim.faults", mutant}}, options);
    EXPECT_EQ(kept.back(), kept.front()) << mutant;
  }
}

constexpr Line kRepaired = Line::of(kPmBase), kUnrepaired = Line::of(kPmBase + kLineBytes);

// A memory without writes, and a recovery procedure for its surviving image.
template <class Procedure>
struct ImageBench {
  void crash() {
    image.recover();
    image.mark_checked();
    image.undo_recovery();
  }
  EventQueue queue;
  const Memory pm{queue, MemoryParameters{}};
  Procedure recovery;
  CrashImage image{pm, pm.device(), recovery, nullptr};
};

// A recovery that repairs one line while the test requires it.
struct Repair final : Recovery {
  void run(RecoveryView pm) override {
    if (wanted) pm.write(kRepaired, LineData{std::byte{1}});
  }
  bool wanted = true;
};

TEST(CrashImage, ChangedLinesIncludeThoseOfThePreviousRecovery) {
  ImageBench<Repair> bench;
  bench.image.recover();
  EXPECT_EQ(bench.image.changed(), std::vector{kRepaired});
  EXPECT_EQ(bench.image.read(kRepaired), LineData{std::byte{1}});
  bench.image.mark_checked();
  bench.image.undo_recovery();
  EXPECT_EQ(bench.image.read(kRepaired), LineData{});

  bench.recovery.wanted = false;
  bench.image.update_on_device(kUnrepaired, LineData{std::byte{2}});
  bench.image.recover();
  EXPECT_EQ(bench.image.changed(), (std::vector{kRepaired, kUnrepaired}));
  bench.image.mark_checked();
  EXPECT_TRUE(bench.image.changed().empty());
}

// A recovery that makes the given writes and may read its own earlier writes.
class Scripted final : public Recovery {
 public:
  using Script = std::function<void(RecoveryView)>;
  explicit Scripted(Script script) : script_(std::move(script)) {}
  void run(RecoveryView pm) override { script_(pm); }

 private:
  const Script script_;
};

class RestartedRecovery : public testing::Test {
 protected:
  static constexpr Line kFirst = Line::of(kPmBase), kSecond{kFirst.number + 1},
                        kThird{kFirst.number + 2};
  static constexpr LineData kOld{}, kNew{std::byte{1}};

  RestartedRecovery() : pm_(queue_, MemoryParameters{}) {
    builder_.pm_region(kPmBase, kPmBase + (1 << 20));
    builder_.thread(0);
    const std::uint32_t store = builder_.site(trace::SiteKind::kStore, 8, 1);
    for (const Line line : {kFirst, kSecond, kThird}) builder_.store(store, line.address(), 1);
  }
  bool survives(Scripted::Script script, std::uint64_t expected_restarts) {
    const TemporaryTrace temporary(builder_);
    const ProgramHistory history(
        trace::TraceFile(temporary.path()), {},
        {.promises = {.whole_regions = true, .fences = FencePromise::kFlushed},
         .lines_whole = true});
    Scripted recovery(std::move(script));
    CrashImage image(pm_, pm_.device(), recovery, nullptr);
    image.recover();
    image.mark_checked();
    image.undo_recovery();
    std::uint64_t restarts = 0;
    const bool survived = image.survives_restarts(history, restarts);
    EXPECT_EQ(restarts, expected_restarts);
    for (const Line line : {kFirst, kSecond, kThird}) EXPECT_EQ(image.read(line), kOld);
    return survived;
  }

 private:
  trace::TraceBuilder builder_;
  EventQueue queue_;
  const Memory pm_;
};

TEST_F(RestartedRecovery, RestartsAreSkippedIfRecoveryReadsNoneOfItsWrites) {
  EXPECT_TRUE(survives(
      [](RecoveryView pm) {
        pm.read(kThird);
        pm.write(kFirst, kNew);
        pm.write(kSecond, kNew);
      },
      0));
}

TEST_F(RestartedRecovery, IdempotentRecoveryMayReadItsWrites) {
  EXPECT_TRUE(survives(
      [](RecoveryView pm) {
        for (const Line line : {kFirst, kSecond, kThird}) {
          if (pm.read(line) == kOld) pm.write(line, kNew);
        }
      },
      2));
}

TEST_F(RestartedRecovery, RecoveryIsStoppedAtEachOfItsWrites) {
  EXPECT_FALSE(survives(
      [](RecoveryView pm) {
        if (pm.read(kSecond) == kNew)
          return;  // stops as if the write to kSecond had been its last one
        for (const Line line : {kFirst, kSecond, kThird}) pm.write(line, kNew);
      },
      2));
}

TEST_F(RestartedRecovery, RestartThatWritesOtherLinesIsAViolation) {
  EXPECT_FALSE(survives(
      [](RecoveryView pm) {
        const bool again = pm.read(kFirst) == kNew;
        pm.write(kFirst, kNew);
        pm.write(kSecond, kNew);
        if (again) pm.write(kThird, kNew);
      },
      1));
}

TEST(CrashImage, ContentsBeforeRecoveryCanBeRead) {
  ImageBench<Repair> bench;
  bench.image.update_on_device(kRepaired, LineData{std::byte{7}});
  bench.image.update_on_device(kUnrepaired, LineData{std::byte{8}});
  bench.image.recover();
  EXPECT_EQ(bench.image.read(kRepaired), LineData{std::byte{1}});
  EXPECT_EQ(bench.image.before_recovery(kRepaired), LineData{std::byte{7}});
  EXPECT_EQ(bench.image.before_recovery(kUnrepaired), LineData{std::byte{8}});
}

TEST(CrashImage, AlternativeImageCanBeUndone) {
  ImageBench<Repair> bench;
  bench.crash();
  bench.image.replace({{kUnrepaired, LineData{std::byte{3}}}});
  bench.image.recover();
  EXPECT_EQ(bench.image.changed(), (std::vector{kRepaired, kUnrepaired, kRepaired}));
  EXPECT_EQ(bench.image.read(kUnrepaired), LineData{std::byte{3}});
  bench.image.undo_recovery();
  bench.image.undo_replacement();
  EXPECT_EQ(bench.image.read(kUnrepaired), LineData{});
  EXPECT_EQ(bench.image.changed(), std::vector{kRepaired});
}

// A recovery that repairs one line if another line requires it, and keeps its result while that
// line is unchanged.
class Staying final : public Recovery {
 public:
  void changed(Line line, const LineData& data) override {
    if (line != kUnrepaired) return;
    wanted_ = data != LineData{};
    done_ = false;
  }
  void run(RecoveryView pm) override {
    if (wanted_ && !done_) pm.write(kRepaired, LineData{std::byte{1}});
    done_ = true;
  }
  bool may_keep_image() const override { return true; }
  std::optional<std::vector<Line>> prepare_next_run(RecoveryView) override {
    if (!done_) return {};
    return std::vector<Line>{};
  }

 private:
  bool wanted_ = false, done_ = false;
};

// An alternative image may undo a repair of an earlier recovery. The image may then stay without
// the repair.
TEST(CrashImage, ChangedLinesIncludeRepairsUndoneByAnAlternativeImage) {
  ImageBench<Staying> bench;
  bench.image.update_on_device(kUnrepaired, LineData{std::byte{1}});
  for (int crashes = 0; crashes < 2; ++crashes) {
    bench.crash();
    EXPECT_EQ(bench.image.read(kRepaired), LineData{std::byte{1}});
  }
  EXPECT_TRUE(bench.image.changed().empty());
  bench.image.replace({{kUnrepaired, {}}});
  bench.image.recover();
  bench.image.undo_recovery();
  bench.image.undo_replacement();
  bench.image.update_on_device(kUnrepaired, {});
  bench.image.recover();
  EXPECT_EQ(bench.image.read(kRepaired), LineData{});
  EXPECT_EQ(std::ranges::count(bench.image.changed(), kRepaired), 1);
}

// Restores a line that it has never written, as a faulty recovery may do.
struct Mistaken final : Recovery {
  void run(RecoveryView) override {}
  bool may_keep_image() const override { return true; }
  std::optional<std::vector<Line>> prepare_next_run(RecoveryView) override { return {{kRepaired}}; }
};

TEST(CrashImage, LineThatRecoveryNeverWroteStaysUnchanged) {
  ImageBench<Mistaken> bench;
  bench.image.update_on_device(kRepaired, LineData{std::byte{1}});
  for (int crashes = 0; crashes < 2; ++crashes) bench.crash();
  EXPECT_EQ(bench.image.read(kRepaired), LineData{std::byte{1}});
}

TEST(Crash, UserCheckerSeesEvenlySpacedImages) {
  OtherChecker checker("it is wrong");
  const CrashOptions options{.sample = 1, .external_checker = &checker, .inspections = 2};
  const CrashResult result = crash_it({{"atomicity", "lad"}}, options);
  EXPECT_EQ(result.inspected, 2);
  ASSERT_TRUE(result.explanation);
  EXPECT_EQ(result.explanation->point, result.all_points / 2);
}

TEST(Crash, UserCheckerSeesEveryDifferentImage) {
  const std::vector<KeyValue> torn{{"atomicity", "hw-redo"}, {"pm.persistence", "written"}};
  OtherChecker all("");
  const CrashResult result = crash_it(
      torn, {.subsets = 1, .external_checker = &all, .inspections = CrashOptions::kAllImages});
  EXPECT_GT(result.different, result.points);
  EXPECT_LE(result.different, result.images);
  EXPECT_EQ(result.inspected, result.different);
  EXPECT_EQ(all.shown, result.different);
  OtherChecker of_some("");
  const CrashResult some = crash_it(
      torn, {.sample = 20, .external_checker = &of_some, .inspections = CrashOptions::kAllImages});
  EXPECT_EQ(some.points, 20);
  EXPECT_EQ(of_some.shown, some.different);
}

TEST(Crash, FirstViolationOfOracleOrUserCheckerIsExplained) {
  OtherChecker late("it is wrong", 7);
  const CrashResult result =
      crash_it({{"atomicity", "asap"}},
               {.external_checker = &late, .inspections = CrashOptions::kAllImages});
  EXPECT_EQ(result.violations, 1);
  ASSERT_TRUE(result.explanation);
  EXPECT_EQ(result.explanation->point, 8);
  // The oracle finds something, too, at other points.
  const std::vector<KeyValue> broken{{"atomicity", "asap"},
                                     {"pmemsim.faults", "asap.lpo_dropping"}};
  const CrashResult alone = crash_it(broken);
  OtherChecker first("it is wrong", 0);
  const CrashResult both =
      crash_it(broken, {.external_checker = &first, .inspections = CrashOptions::kAllImages});
  ASSERT_GT(alone.explanation->point, 1);
  EXPECT_EQ(both.violations, alone.violations + 1);
  EXPECT_EQ(both.explanation->point, 1);
  OtherChecker last("it is wrong", both.inspected - 1);
  const CrashResult later =
      crash_it(broken, {.external_checker = &last, .inspections = CrashOptions::kAllImages});
  EXPECT_EQ(later.explanation->lines, alone.explanation->lines);
}

// The directory of the pool, which the trace names, does not exist.
TEST(Crash, RecoveryThatGivesUpIsAViolation) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 26));
  builder.thread(0);
  builder.store(builder.site(trace::SiteKind::kStore, 8, 1), kPmBase, 1);
  builder.access(builder.site(trace::SiteKind::kFlush), kPmBase);
  builder.mark(trace::MarkKind::kRegionBegin, 1);
  builder.mark(trace::MarkKind::kRegionEnd, 1);
  std::string metadata = builder.default_metadata();
  metadata.replace(metadata.find(R"("source": "test")"), 16, R"("source": "pm_open")");
  builder.metadata(metadata);
  const TemporaryTrace temporary(builder);
  const CrashResult result =
      crash(trace::TraceFile(temporary.path()),
            configure(settings({{"ordering", "x86"}, {"atomicity", "software-undo"}})), {}, {});
  EXPECT_EQ(result.violations, 1);
  ASSERT_TRUE(result.explanation);
  EXPECT_EQ(result.explanation->lines.back(),
            "recovery failed: the pool is not a pmemsim/pm.h pool");
}

TEST(Crash, ExplanationNamesTheTornLineWhereRecoveryGaveUp) {
  trace::TraceBuilder builder;
  builder.thread(0);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile trace(temporary.path());
  const ProgramHistory history(
      trace, {},
      {.promises = {.whole_regions = true, .fences = FencePromise::kFlushed}, .lines_whole = true});
  const Violation violation{.point = 1, .problem = "recovery failed", .torn = kRepaired};
  const CrashExplanation explanation =
      explain_violation(violation, crash_configuration({}), trace, history);
  ASSERT_EQ(explanation.lines.size(), 3u);
  EXPECT_TRUE(explanation.lines[1].ends_with("had just been written in part:"));
  EXPECT_EQ(explanation.lines[2], "recovery failed");
}

TEST(Crash, DesignWithoutGuaranteesIsRejected) {
  try {
    crash_it({{"ordering", "none"}, {"atomicity", "none"}});
    ADD_FAILURE() << "nothing is guaranteed";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems(),
              std::vector<std::string>{
                  "ordering=none with atomicity=none has no durability guarantees, so there is "
                  "nothing to verify; choose another design, for example sw-undo"});
  }
  EXPECT_THROW(crash_it({{"atomicity", "asap"}, {"run.lock_order", "simulated"}}), ConfigError);
  EXPECT_THROW(crash_it({{"ordering", "free"}, {"atomicity", "software-undo"}}), ConfigError)
      << "fences that order nothing leave the log no way to fulfil its guarantee";
}

// Returns the error message with which crash() rejects the program, without the file's name; empty:
// none.
std::string why_not_checked(trace::TraceBuilder& builder, const std::vector<KeyValue>& design,
                            const CrashOptions& options = {}) {
  const TemporaryTrace temporary(builder);
  try {
    crash(trace::TraceFile(temporary.path()), configure(settings({{"core.count", "1"}}, design)),
          options, {});
    return "";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with(temporary.path() + ": "));
    return std::string(error.what()).substr(temporary.path().size() + 2);
  }
}

const std::vector<KeyValue> kBareX86{{"ordering", "x86"}, {"atomicity", "none"}};
const std::vector<KeyValue> kSoftwareUndo{{"ordering", "x86"}, {"atomicity", "software-undo"}};

TEST(Crash, ProgramWithoutPersistentMemoryIsRejected) {
  trace::TraceBuilder builder;
  builder.thread(0);
  builder.store(builder.site(trace::SiteKind::kStore, 8, 1), 0x1000, 1);
  EXPECT_TRUE(
      why_not_checked(builder, kBareX86).starts_with("the recording has no persistent memory"));
}

TEST(Crash, ProgramThatOnlyReadsIsRejected) {
  Flushing program;
  program.builder.thread(0);
  program.builder.access(program.builder.site(trace::SiteKind::kLoad, 8, 1), kPmBase);
  EXPECT_TRUE(why_not_checked(program.builder, kBareX86)
                  .starts_with("the recording stores nothing to persistent memory"));
}

TEST(Crash, ProgramThatPersistsNothingIsRejected) {
  Flushing program;
  program.builder.thread(0);
  program.builder.store(program.store, kPmBase, 1);
  EXPECT_TRUE(why_not_checked(program.builder, kBareX86)
                  .starts_with("no data became persistent and no guarantee covered any"));
}

// A log of regions guarantees nothing beyond x86 for a program without regions. Other orderings and
// backends guarantee more, and a checker of images can check more.
TEST(Crash, ProgramWithoutRegionsIsRejectedForALogOnlyDesign) {
  Flushing program;
  program.builder.thread(0);
  program.builder.store(program.store, kPmBase, 1);
  program.builder.access(program.clwb, kPmBase);
  program.builder.plain(program.sfence);
  EXPECT_TRUE(
      why_not_checked(program.builder, kSoftwareUndo)
          .starts_with(
              "the recording has no atomic regions, and without them atomicity=software-undo"));
  EXPECT_TRUE(
      why_not_checked(program.builder, {{"ordering", "x86"}, {"atomicity", "asap"}})
          .starts_with("the recording has no atomic regions, and without them atomicity=asap"));
  EXPECT_EQ(why_not_checked(program.builder, kBareX86), "");
  EXPECT_EQ(
      why_not_checked(program.builder, {{"ordering", "eadr"}, {"atomicity", "software-undo"}}), "");
  EXPECT_EQ(why_not_checked(
                program.builder,
                {{"ordering", "x86"}, {"atomicity", "software-undo"}, {"backend", "encryption"}}),
            "");
  OtherChecker checker("");
  const CrashOptions shown{.external_checker = &checker, .inspections = 1};
  EXPECT_EQ(why_not_checked(program.builder, kSoftwareUndo, shown), "");
  EXPECT_EQ(checker.shown, 1);
}

// The design guarantees the region, although nothing persists.
TEST(Crash, UserCheckerWithoutAnyImageIsAnError) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const std::uint32_t store = builder.site(trace::SiteKind::kStore, 8, 1);
  builder.thread(0);
  builder.store(store, kPmBase, 1);
  builder.mark(trace::MarkKind::kRegionBegin, 1);
  builder.mark(trace::MarkKind::kRegionEnd, 1);
  EXPECT_EQ(why_not_checked(builder, kSoftwareUndo), "");
  OtherChecker checker("");
  const CrashOptions shown{.external_checker = &checker, .inspections = 1};
  EXPECT_TRUE(why_not_checked(builder, kSoftwareUndo, shown)
                  .starts_with("no data became persistent, so the checker received no image"));
}

TEST(Crash, ViolationOfABrokenDesignIsExplained) {
  const CrashResult result =
      crash_it({{"atomicity", "asap"}, {"pmemsim.faults", "asap.lpo_dropping"}});
  EXPECT_GT(result.violations, 0);
  ASSERT_TRUE(result.explanation);
  EXPECT_GT(result.explanation->point, 0);
  EXPECT_NE(result.explanation->lines.at(1).find("the word at 0x"), std::string::npos);
  std::string all;
  for (const std::string& line : result.explanation->lines) all += line + "\n";
  EXPECT_NE(all.find("the line's log entry of region "), std::string::npos) << all;
}

// A program without regions: a word, its flush, its fence.
CrashResult crash_a_flushed_store(std::initializer_list<KeyValue> design,
                                  const ChoiceTable& table = choices()) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  builder.thread(0);
  builder.store(builder.site(trace::SiteKind::kStore, 8, 1), kPmBase, 1);
  builder.access(builder.site(trace::SiteKind::kFlush), kPmBase);
  builder.plain(builder.site(trace::SiteKind::kFence));
  const TemporaryTrace temporary(builder);
  return crash(
      trace::TraceFile(temporary.path()),
      configure(settings({{"ordering", "x86"}, {"atomicity", "none"}, {"core.count", "1"}}, design),
                table),
      {}, {});
}

TEST(Crash, ExplanationNamesTheBrokenFence) {
  EXPECT_EQ(crash_a_flushed_store({}).violations, 0);
  const CrashResult lost = crash_a_flushed_store({{"pmemsim.faults", "x86.flush"}});
  EXPECT_EQ(lost.violations, 1);
  ASSERT_TRUE(lost.explanation);
  EXPECT_EQ(lost.explanation->lines.at(4),
            "the fence of thread 0 at test.c:1, after a flush of it, has completed");
  EXPECT_NE(
      lost.explanation->lines.back().find("a store of thread 0 outside regions is guaranteed"),
      std::string::npos);
}

TEST(Crash, ExplanationSaysThatTheFenceCoversAllStores) {
  ChoiceTable table = choices();
  for (Choice& choice : table) {
    if (choice.layer() == Layer::kOrdering) choice.promises.fences = FencePromise::kStores;
  }
  const CrashResult lost = crash_a_flushed_store({{"pmemsim.faults", "x86.flush"}}, table);
  ASSERT_TRUE(lost.explanation);
  EXPECT_EQ(lost.explanation->lines.at(4),
            "the fence of thread 0 at test.c:1, which covers all stores before it, has completed");
}

// Threads that write words of one line: a store persists when it becomes visible, not while its
// core still waits for the line, and none of the others' is lost then.
// The long form has more programs.
TEST(Crash, PersistentCachesKeepEveryVisibleStore) {
  const auto crash_eadr = [](std::uint32_t seed, std::initializer_list<KeyValue> more) {
    std::vector<KeyValue> design{{"ordering", "eadr"}, {"atomicity", "none"}, {"core.count", "4"}};
    design.insert(design.end(), more);
    return crash_shared({.seed = seed, .threads = 4, .false_sharing = true},
                        crash_configuration(design))
        .problem;
  };
  for (std::uint32_t seed = 1; seed <= (long_tests() ? 8 : 3); ++seed) {
    EXPECT_EQ(crash_eadr(seed, {}), "") << seed;
  }
  for (const std::string_view defect : {"eadr.caches", "eadr.order", "eadr.evictions"}) {
    EXPECT_NE(crash_eadr(1, {{"pmemsim.faults", defect}}), "") << defect;
  }
}

TEST(Crash, StoresLostByInjectedCacheFaultsAreFound) {
  const auto crash_x86 = [](std::initializer_list<KeyValue> more) {
    std::vector<KeyValue> design{{"atomicity", "none"}, {"core.count", "4"}};
    design.insert(design.end(), more);
    return crash_shared({.seed = 1, .threads = 4}, crash_configuration(design)).problem;
  };
  EXPECT_EQ(crash_x86({}), "");
  EXPECT_EQ(crash_shared({.seed = 1, .threads = 4, .false_sharing = true},
                         crash_configuration({{"atomicity", "none"}, {"core.count", "4"}}))
                .problem,
            "");
  for (const std::string_view defect : {"x86.snoop", "x86.evictions"}) {
    EXPECT_NE(crash_x86({{"pmemsim.faults", defect}}), "") << defect;
  }
}

TEST(Crash, LineIsTornIfQueuesAreVolatile) {
  const CrashResult kept = crash_without_log("accepted");
  EXPECT_EQ(kept.images, kept.points + 1);  // again when the region becomes durable
  EXPECT_EQ(kept.violations, 0);
  const CrashResult torn = crash_without_log("written");
  EXPECT_EQ(torn.images, kept.images + 1);  // the first of two is wrong
  EXPECT_EQ(torn.violations, 1);
  EXPECT_EQ(crash_without_log("written", {{"atomicity", "none"}}).images,
            crash_without_log("accepted", {{"atomicity", "none"}}).images + 2)
      << "both are tried where both are right";
  ASSERT_TRUE(torn.explanation);
  EXPECT_EQ(torn.explanation->lines.at(1), "if line 0x100000000000 had just been written in part:");
}

constexpr std::uint64_t kAllBytes = ~std::uint64_t{0};

// Stores to the end of three lines and flushes them: the first twice, so quickly that the queue
// merges the two, and each of the others when the line before it has long been written.
CrashResult crash_lines_flushed(const std::vector<KeyValue>& others,
                                std::uint64_t first = kAllBytes, std::uint64_t last = 3) {
  constexpr std::uint64_t kWritten = 100'000;  // instructions: the queue is empty then
  Flushing program;
  auto& [builder, store, clwb, sfence] = program;
  builder.thread(0);
  const auto store_and_flush = [&program](std::uint64_t line, std::uint64_t value) {
    const std::uint64_t address = kPmBase + (line + 1) * kLineBytes - sizeof value;
    program.builder.store(program.store, address, value);
    program.builder.access(program.clwb, address);
    program.builder.plain(program.sfence);
  };
  store_and_flush(0, 1);
  store_and_flush(0, first);
  builder.external(kWritten);
  store_and_flush(1, 2);
  builder.external(kWritten);
  store_and_flush(2, last);
  const TemporaryTrace temporary(builder);
  return crash(trace::TraceFile(temporary.path()),
               configure(settings({{"ordering", "x86"}, {"atomicity", "none"}}, others)), {}, {});
}

// Checks a difference that memory causes but doesn't report: the oracle relies on the memory's
// reports and finds nothing.
void expect_difference(const CrashResult& result, std::uint64_t point, std::uint64_t line) {
  ASSERT_TRUE(result.explanation);
  EXPECT_EQ(result.explanation->point, point);
  EXPECT_EQ(result.explanation->lines.at(1),
            fmt::format("line {:#x} of the simulated memory differs from the data that the design "
                        "considers persistent",
                        kPmBase + line * kLineBytes));
}

TEST(Crash, ImageThatDiffersFromMemoryIsAViolation) {
  const CrashResult sound = crash_lines_flushed({});
  EXPECT_EQ(sound.points, 4);
  EXPECT_EQ(sound.violations, 0);
  expect_difference(crash_lines_flushed({{"pmemsim.faults", "pm.merge"}}), 2, 0);
  const std::vector<KeyValue> written_soon{{"pm.write_low_watermark", "0"},
                                           {"pmemsim.faults", "pm.device"}};
  expect_difference(crash_lines_flushed(written_soon), 3, 0);
}

TEST(Crash, LastImageThatDiffersFromTheDeviceIsAViolation) {
  const CrashResult broken = crash_lines_flushed({{"pmemsim.faults", "pm.device"}}, 1, kAllBytes);
  EXPECT_EQ(broken.violations, 1);
  expect_difference(broken, 4, 2);
}

TEST(Crash, LastImageThatDiffersFromPersistentCachesIsAViolation) {
  EXPECT_EQ(crash_lines_flushed({{"ordering", "eadr"}}).violations, 0);
  const CrashResult broken =
      crash_lines_flushed({{"ordering", "eadr"}, {"pmemsim.faults", "eadr.order"}});
  EXPECT_GT(broken.violations, 0);
}

// ASAP, figure 2a: regions that commit asynchronously, without dependences between them. X's log
// and data wait in a busy channel, if they come at the right time; Y's are in another one, and Y
// commits.
class Figure2 {
 public:
  explicit Figure2(std::uint32_t delay) {
    builder_.pm_region(kPmBase, kPmBase + (1 << 20));
    load_ = builder_.site(trace::SiteKind::kLoad, 8, 1);
    store_ = builder_.site(trace::SiteKind::kStore, 8, 1);
    clwb_ = builder_.site(trace::SiteKind::kFlush);
    builder_.thread(2);
    for (std::uint64_t line = 1; line < 400; ++line) {
      const std::uint64_t address = kX + line / 60 * 2 * 4096 + line % 60 * kLineBytes;
      builder_.store(store_, address + 4 * kLineBytes, line);
      builder_.access(clwb_, address + 4 * kLineBytes);
    }
    builder_.thread(1);
    builder_.access(load_, kY);
    builder_.thread(0);
    builder_.access(load_, kX);
    builder_.access(load_, kY);
    builder_.external(delay);
    builder_.mark(trace::MarkKind::kRegionBegin, 1);
    builder_.store(store_, kX, 1);
    builder_.mark(trace::MarkKind::kRegionEnd, 1);
  }
  // i: Y follows X on its thread.
  void control_dependence() { write_y(); }
  // ii: Y's region reads X on another thread.
  void data_dependence() {
    builder_.sync(trace::SyncKind::kSignal, 0, 0, 1);
    builder_.thread(1);
    builder_.sync(trace::SyncKind::kWait, 0, 0, 1);
    write_y(true);
  }
  CrashResult crash_it(bool broken) {
    const TemporaryTrace temporary(builder_);
    return crash(trace::TraceFile(temporary.path()),
                 configure(settings({{"ordering", "x86"},
                                     {"atomicity", "asap"},
                                     {"core.count", "3"},
                                     {"pm.controllers", "2"},
                                     {"pm.interleaving", "page"},
                                     {"pm.wpq_entries", "2"},
                                     {"pm.latency_factor", "8"},
                                     {"pmemsim.faults", broken ? "asap.dependences" : ""}})),
                 {}, {});
  }

 private:
  static constexpr std::uint64_t kX = kPmBase, kY = kPmBase + 4096;

  void write_y(bool reads_x = false) {
    builder_.mark(trace::MarkKind::kRegionBegin, 1);
    if (reads_x) builder_.access(load_, kX);
    builder_.store(store_, kY, 2);
    builder_.mark(trace::MarkKind::kRegionEnd, 1);
  }
  trace::TraceBuilder builder_;
  std::uint32_t load_, store_, clwb_;
};

void expect_story(const CrashResult& result, const std::string& sentence) {
  EXPECT_GT(result.violations, 0);
  ASSERT_TRUE(result.explanation);
  std::string all;
  for (const std::string& line : result.explanation->lines) all += line + "\n";
  EXPECT_NE(all.find(sentence), std::string::npos) << all;
  EXPECT_NE(all.find("was guaranteed to survive"), std::string::npos) << all;
}

// Expects a violation with some delay, and none without the injected fault.
void expect_figure2(void (Figure2::*dependence)(), const std::string& sentence) {
  CrashResult shown;
  for (std::uint32_t delay = 500; delay <= 6000; delay += 500) {
    Figure2 program(delay);
    (program.*dependence)();
    if (shown.violations == 0) shown = program.crash_it(true);
    EXPECT_EQ(program.crash_it(false).violations, 0) << delay;
  }
  expect_story(shown, sentence);
}

TEST(Crash, ViolationOfAsapFigure2IsFoundAndExplained) {
  expect_figure2(&Figure2::control_dependence,
                 "region 2 of thread 0 depends on it, because it follows region 1 of thread 0, "
                 "which its thread ran before it");
  SCOPED_TRACE("data dependence");
  expect_figure2(&Figure2::data_dependence,
                 "region 1 of thread 1 depends on it, because it follows region 1 of thread 0, "
                 "whose data it reads or overwrites");
}

}  // namespace
}  // namespace pmemsim
