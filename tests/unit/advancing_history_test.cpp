// The history that is read while the machine runs: its size, and that it decides as the whole one.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pmemsim/crash/advancing_history.hpp"
#include "pmemsim/crash/crash.hpp"
#include "pmemsim/crash/oracle.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kOperationsOfRegion = 4;  // Begin, two stores, end

// A thread's regions, each of which stores its number to two words.
class LongProgram {
 public:
  LongProgram() {
    builder.pm_region(kPmBase, kPmBase + 4096);
    store_ = builder.site(trace::SiteKind::kStore, 8, 1);
    builder.thread(0);
  }
  void region(std::uint64_t value) { region(value, kPmBase, kPmBase + kLineBytes); }
  void region(std::uint64_t value, std::uint64_t first, std::uint64_t second) {
    builder.mark(trace::MarkKind::kRegionBegin, 1);
    builder.store(store_, first, value);
    builder.store(store_, second, value);
    builder.mark(trace::MarkKind::kRegionEnd, 1);
  }
  // A region that allocates the first line and stores to it.
  void allocating_region(std::uint64_t value) {
    builder.mark(trace::MarkKind::kRegionBegin, 1);
    builder.mark(trace::MarkKind::kAllocate, kPmBase, kLineBytes);
    builder.store(store_, kPmBase, value);
    builder.mark(trace::MarkKind::kRegionEnd, 1);
  }

  trace::TraceBuilder builder;

 private:
  std::uint32_t store_;
};

// An oracle with a history that drops what is guaranteed.
class AdvancingBench : public Oracle::ImageReader {
 public:
  explicit AdvancingBench(LongProgram& program)
      : temporary_(program.builder),
        file_(temporary_.path()),
        history(file_, Lowering{},
                {.promises = {.whole_regions = true, .fences = FencePromise::kFlushed},
                 .lines_whole = true},
                Versions::kLatest),
        oracle(history) {}

  LineData read(Line line) const override { return image_.read(line); }
  AdvancingBench& holds(std::uint64_t address, std::uint64_t value) {
    image_.write(address, reinterpret_cast<const std::byte*>(&value), sizeof value);
    changed_.push_back(Line::of(address));
    return *this;
  }
  // The first `count` regions have been executed.
  AdvancingBench& executed(std::uint64_t count) {
    history.read_to(0, count * kOperationsOfRegion);
    return *this;
  }
  void guarantee(std::uint64_t region) {
    oracle.guarantee(history.region(0, region));
    history.drop_regions(0, region);
  }
  std::optional<Oracle::Fault> verdict() {
    const auto finding = oracle.check_image(*this, std::exchange(changed_, {}));
    if (!finding) return {};
    return finding->fault;
  }

 private:
  const TemporaryTrace temporary_;
  const trace::TraceFile file_;
  Image image_;
  std::vector<Line> changed_;

 public:
  AdvancingHistory history;
  Oracle oracle;
};

TEST(AdvancingHistory, SizeDoesNotDependOnTheLengthOfTheProgram) {
  constexpr std::uint64_t kRegions = 20'000;
  LongProgram program;
  for (std::uint64_t region = 1; region <= kRegions; ++region) program.region(region);
  AdvancingBench bench(program);
  for (std::uint64_t region = 1; region <= kRegions; ++region) {
    bench.executed(region).holds(kPmBase, region).holds(kPmBase + kLineBytes, region);
    ASSERT_EQ(bench.verdict(), std::nullopt) << region;
    bench.guarantee(region);
    // A round reads the regions of 256 operations ahead, and a chunk has 256 units.
    ASSERT_LE(bench.history.held_units(), 1024) << region;
    ASSERT_LE(bench.history.held_versions(), 1024) << region;
    ASSERT_LE(bench.history.held_numbers(), 1024) << region;
  }
  EXPECT_EQ(bench.history.units(), kRegions);
}

TEST(AdvancingHistory, GuaranteedRegionIsLostAfterItsUnitIsDropped) {
  LongProgram program;
  for (std::uint64_t region = 1; region <= 2000; ++region) program.region(region);
  AdvancingBench bench(program);
  bench.executed(1000).guarantee(1000);
  ASSERT_TRUE(bench.history.released(0));
  EXPECT_EQ(bench.holds(kPmBase, 999).holds(kPmBase + kLineBytes, 999).verdict(),
            Oracle::Fault::kForeignValue);
  EXPECT_EQ(bench.holds(kPmBase, 1000).holds(kPmBase + kLineBytes, 1000).verdict(), std::nullopt);
  EXPECT_TRUE(bench.oracle.held(0));
}

TEST(AdvancingHistory, WordWrittenMuchLaterMustHoldItsInitialValue) {
  LongProgram program;
  for (std::uint64_t region = 1; region <= 2000; ++region) {
    program.region(region, kPmBase, kPmBase);
  }
  program.region(2001);
  AdvancingBench bench(program);
  EXPECT_EQ(bench.executed(1).holds(kPmBase, 1).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kPmBase + kLineBytes, 77).verdict(), Oracle::Fault::kForeignValue);
}

// The region that allocates the memory is far beyond what has been read when the image is checked.
TEST(AdvancingHistory, MemoryAllocatedMuchLaterIsFreeUntilThen) {
  constexpr std::uint64_t kRegions = 2000, kOther = kPmBase + kLineBytes;
  LongProgram program;
  program.region(1);
  for (std::uint64_t region = 2; region < kRegions; ++region)
    program.region(region, kOther, kOther);
  program.allocating_region(kRegions);
  AdvancingBench bench(program);
  bench.executed(1).guarantee(1);
  bench.holds(kOther, 1);
  EXPECT_EQ(bench.holds(kPmBase, 0x77).verdict(), std::nullopt);
  EXPECT_EQ(bench.history.units(), kRegions) << "the whole program is read";
  bench.executed(kRegions).guarantee(kRegions);
  bench.holds(kOther, kRegions - 1);
  EXPECT_EQ(bench.holds(kPmBase, 0x78).verdict(), Oracle::Fault::kForeignValue);
}

TEST(AdvancingHistory, KeptHistoryHasAllUnits) {
  LongProgram program;
  for (std::uint64_t region = 1; region <= 2000; ++region) program.region(region);
  AdvancingBench bench(program);
  bench.history.keep_all();
  bench.guarantee(1500);
  EXPECT_EQ(bench.history.held_units(), 2000);
  EXPECT_FALSE(bench.history.released(0));
  EXPECT_EQ(bench.holds(kPmBase, 999).verdict(), Oracle::Fault::kLost);
}

// Operations that the history skips count towards a round, which reads 256 operations ahead.
TEST(AdvancingHistory, SkippedOperationsCountAsRead) {
  LongProgram program;
  const auto branch = program.builder.site(trace::SiteKind::kBranch);
  for (std::uint64_t region = 1; region <= 3; ++region) {
    program.region(region);
    for (int i = 0; i < 300; ++i) program.builder.branch(branch, true);
  }
  AdvancingBench bench(program);
  bench.executed(1);
  EXPECT_EQ(bench.history.units(), 1);
  bench.history.read_to(0, kOperationsOfRegion + 300);
  EXPECT_EQ(bench.history.units(), 1);
  bench.history.read_to(0, kOperationsOfRegion + 301);
  EXPECT_EQ(bench.history.units(), 2);
}

// A thread writes an atomic variable 5,000 times. Another one reads its first version after more
// operations than that.
class LaggingThread : public testing::Test {
 protected:
  LaggingThread() {
    constexpr std::uint64_t kFlag = kPmBase + 2 * kLineBytes;
    builder_.pm_region(kPmBase, kPmBase + 4096);
    builder_.thread(0);
    const auto flag = builder_.site(trace::SiteKind::kAtomicStore, 8, 1);
    const auto store = builder_.site(trace::SiteKind::kStore, 8, 1);
    builder_.store(store, kPmBase, 1);
    builder_.access(builder_.site(trace::SiteKind::kFlush), kPmBase);
    builder_.plain(builder_.site(trace::SiteKind::kFence));
    for (std::uint32_t version = 1; version <= 5000; ++version) {
      builder_.atomic(flag, kFlag, 0, version, version);
    }
    builder_.thread(1);
    const auto load = builder_.site(trace::SiteKind::kLoad, 8, 1);
    for (int i = 0; i < 6000; ++i) builder_.access(load, kPmBase + 4096);
    builder_.atomic(builder_.site(trace::SiteKind::kAtomicLoad, 8, 1), kFlag, 0, 1);
    builder_.store(store, kPmBase, 2);
    temporary_.emplace(builder_);
    file_.emplace(temporary_->path());
  }
  AdvancingHistory history(Versions versions) const {
    return {*file_,
            Lowering{},
            {.promises = {.fences = FencePromise::kFlushed}, .lines_whole = true},
            versions};
  }

  trace::TraceBuilder builder_;
  std::optional<TemporaryTrace> temporary_;
  std::optional<trace::TraceFile> file_;
};

TEST_F(LaggingThread, NeedsAVersionThatIsForgotten) {
  AdvancingHistory latest = history(Versions::kLatest);
  EXPECT_THROW(latest.keep_all(), ForgottenVersion);
  AdvancingHistory all = history(Versions::kAll);
  all.keep_all();
  EXPECT_EQ(all.units(), 5003) << "5002 stores and a fence";
}

TEST_F(LaggingThread, RunIsRepeatedWithAllVersions) {
  const Configuration machine = configure(settings({{"ordering", "x86"}, {"atomicity", "none"}}));
  const CrashResult result = crash(*file_, machine, {}, {});
  EXPECT_EQ(result.violations, 0);
  EXPECT_GT(result.points, 0);
  EXPECT_EQ(result.points, result.all_points);
}

}  // namespace
}  // namespace pmemsim
