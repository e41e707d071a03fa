// Images that a program may leave after a crash: hand-computed cases.
#include <gtest/gtest.h>

#include <map>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/crash/oracle.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using Fault = Oracle::Fault;

constexpr std::uint64_t kA = kPmBase, kB = kPmBase + kLineBytes, kC = kPmBase + 2 * kLineBytes;

// A program of regions, and of stores outside them.
class Program {
 public:
  Program() {
    builder.pm_region(kPmBase, kPmBase + 4096);
    load_ = builder.site(trace::SiteKind::kLoad, 8, 1);
    store_ = builder.site(trace::SiteKind::kStore, 8, 1);
    store_two_ = builder.site(trace::SiteKind::kStore, 16, 1);
    non_temporal_ = builder.site(trace::SiteKind::kNonTemporal, 8, 1);
    update_ = builder.site(trace::SiteKind::kAtomicUpdate, 8, 1);
    clwb_ = builder.site(trace::SiteKind::kFlush);
    sfence_ = builder.site(trace::SiteKind::kFence);
    lfence_ = builder.site(trace::SiteKind::kFence, 0, 1, {}, {},
                           static_cast<std::uint8_t>(trace::FenceKind::kLfence));
    on(0);
  }
  Program& on(CoreId thread) {
    builder.thread(thread);
    return *this;
  }
  Program& begin() { return mark(trace::MarkKind::kRegionBegin, 1); }
  Program& end() { return mark(trace::MarkKind::kRegionEnd, 1); }
  Program& allocate(std::uint64_t address, std::uint64_t bytes) {
    builder.mark(trace::MarkKind::kAllocate, address, bytes);
    return *this;
  }
  Program& free(std::uint64_t address) { return mark(trace::MarkKind::kFree, address); }
  Program& purpose(trace::Purpose purpose) {
    return mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
  }
  Program& load(std::uint64_t address) {
    builder.access(load_, address);
    return *this;
  }
  Program& store(std::uint64_t address, std::uint64_t value) {
    builder.store(store_, address, value);
    return *this;
  }
  // The value in two words at once.
  Program& store_two(std::uint64_t address, std::uint64_t value) {
    builder.store(store_two_, address, value);
    return *this;
  }
  Program& store_past_the_caches(std::uint64_t address, std::uint64_t value) {
    builder.store(non_temporal_, address, value);
    return *this;
  }
  // A compare-exchange that doesn't find what it expects.
  Program& compare_in_vain(std::uint64_t address) {
    builder.atomic(update_, address, 0, 0, 0, false);
    return *this;
  }
  Program& flush(std::uint64_t address) {
    builder.access(clwb_, address);
    return *this;
  }
  Program& fence() {
    builder.plain(sfence_);
    return *this;
  }
  Program& lfence() {
    builder.plain(lfence_);
    return *this;
  }
  // All past operations of this thread happen before all later operations of the other thread.
  Program& before(CoreId from, CoreId to) {
    on(from).builder.sync(trace::SyncKind::kSignal, 0, 0, ++version_);
    on(to).builder.sync(trace::SyncKind::kWait, 0, 0, version_);
    return *this;
  }
  Program& mark(trace::MarkKind kind, std::uint64_t first) {
    builder.mark(kind, first);
    return *this;
  }

  trace::TraceBuilder builder;

 private:
  std::uint32_t load_, store_, store_two_, non_temporal_, update_, clwb_, sfence_, lfence_;
  std::uint32_t version_ = 0;
};

constexpr Promises kX86Regions{.whole_regions = true, .fences = FencePromise::kFlushed};
constexpr Promises kEadrRegions{
    .whole_regions = true, .stores_in_order = true, .fences = FencePromise::kStores};
const ProgramHistory::Guarantees kWholeRegions{.promises = kX86Regions, .lines_whole = true};

class OracleBench : public Oracle::ImageReader {
 public:
  explicit OracleBench(Program& program,
                       const ProgramHistory::Guarantees& guarantees = kWholeRegions)
      : temporary_(program.builder),
        file_(temporary_.path()),
        history(file_, Lowering{}, guarantees),
        oracle(history) {}

  LineData read(Line line) const override { return image_.read(line); }
  OracleBench& holds(std::uint64_t address, std::uint64_t value) {
    image_.write(address, reinterpret_cast<const std::byte*>(&value), sizeof value);
    changed_.push_back(Line::of(address));
    return *this;
  }
  std::optional<Oracle::Finding> finding() {
    return oracle.check_image(*this, std::exchange(changed_, {}));
  }
  std::optional<Fault> verdict() {
    const auto found = finding();
    if (!found) return {};
    return found->fault;
  }
  std::optional<Fault> verdict_instead() {
    const auto finding = oracle.check_alternative(*this, std::exchange(changed_, {}));
    if (!finding) return {};
    return finding->fault;
  }
  // Changes the word without a notification that its line has changed.
  void hold_without_notice(std::uint64_t address, std::uint64_t value) {
    holds(address, value);
    changed_.clear();
  }
  void guarantee(CoreId thread, std::uint64_t region) {
    oracle.guarantee(history.region(thread, region));
  }

 private:
  const TemporaryTrace temporary_;
  const trace::TraceFile file_;
  Image image_;
  std::vector<Line> changed_;

 public:
  const ProgramHistory history;
  Oracle oracle;
};

std::vector<ProgramHistory::UnitId> follows(const OracleBench& bench, CoreId thread,
                                            std::uint64_t region) {
  const auto found = bench.history.follows(bench.history.region(thread, region));
  return {found.begin(), found.end()};
}

using Units = std::vector<ProgramHistory::UnitId>;

TEST(ProgramHistory, RegionFollowsItsThreadsLastRegionAndTheWritersOfItsWords) {
  Program program;
  program.begin().store(kA, 1).end();                    // 0.1
  program.begin().store(kB, 2).end();                    // 0.2
  program.before(0, 1);                                  //
  program.begin().load(kA).store(kC, 3).end();           // 1.1 reads what 0.1 wrote
  program.begin().store(kB, 4).end();                    // 1.2 overwrites what 0.2 wrote
  program.before(1, 2);                                  //
  program.begin().load(kC + 8).store(kC + 16, 5).end();  // 2.1: other words of the line
  OracleBench bench(program);
  const auto id = [&](CoreId thread, std::uint64_t region) {
    return bench.history.region(thread, region);
  };
  EXPECT_EQ(follows(bench, 0, 1), Units{});
  EXPECT_EQ(follows(bench, 0, 2), Units{id(0, 1)});
  EXPECT_EQ(follows(bench, 1, 1), Units{id(0, 1)});
  EXPECT_EQ(follows(bench, 1, 2), (Units{id(0, 2), id(1, 1)}));
  EXPECT_EQ(follows(bench, 2, 1), Units{});
}

TEST(ProgramHistory, AccessesOfTheLogAreIgnored) {
  Program program;
  program.begin().purpose(trace::Purpose::kLog).load(kA).store(kB, 7);
  program.purpose(trace::Purpose::kProgram).store(kA, 1).end();
  OracleBench bench(program);
  EXPECT_NE(bench.history.line(Line::of(kA)), nullptr);
  EXPECT_EQ(bench.history.line(Line::of(kB)), nullptr);
}

TEST(Oracle, RegionInPartIsTorn) {
  Program program;
  program.begin().store(kA, 1).store(kB, 2).store(kB, 3).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kB, 3).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kForeignValue);  // it has overwritten that
}

// The check of an image ends at the first wrong word. Here, another word of the region is wrong,
// too, and its line does not change until the next image.
TEST(Oracle, WordLeftUncheckedInAWrongImageIsCheckedInTheNextOne) {
  constexpr std::uint64_t kD = kPmBase + 3 * kLineBytes;
  Program program;
  program.begin().store(kC, 5).end();
  program.begin().store(kB, 2).store(kA, 1).store(kC, 6).end();
  program.on(1).begin().store(kD, 7).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kC, 5).verdict(), std::nullopt);
  EXPECT_NE(bench.holds(kC, 6).holds(kD, 99).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kD, 0).holds(kA, 1).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

// The store outside regions is seen in an image before the region that overwrites it is guaranteed.
TEST(Oracle, GuaranteedRegionIsNotUndoneWithAnEarlierStoreOutsideRegions) {
  Program program;
  program.store(kA, 1).begin().store(kA, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  bench.guarantee(0, 1);
  EXPECT_EQ(bench.holds(kA, 2).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), Fault::kLost);
}

TEST(Oracle, RegionWithoutTheRegionBeforeItIsTorn) {
  Program program;
  program.begin().store(kA, 1).end();
  program.begin().store(kB, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, MissingGuaranteedRegionIsLost) {
  Program program;
  program.begin().store(kA, 1).end();
  program.begin().store(kB, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 0).verdict(), std::nullopt);  // A's region isn't guaranteed yet
  bench.guarantee(0, 2);                                  // guarantees the earlier region, too
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kLost);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 0).verdict(), Fault::kLost);
}

// A lost store is explained by its guarantee, not by an earlier image.
TEST(Oracle, LossIsExplainedByItsGuarantee) {
  Program program;
  program.begin().store(kA, 1).end();
  program.begin().store(kB, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA, 1).holds(kB, 2).verdict(), std::nullopt);
  bench.guarantee(0, 1);
  const auto lost = bench.holds(kA, 0).holds(kB, 0).finding();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->unit, bench.history.region(0, 1));
  EXPECT_EQ(lost->because_of, bench.history.region(0, 1));
  EXPECT_FALSE(lost->seen_at);
}

TEST(Oracle, TornRegionIsExplainedByTheWordThatShowsIt) {
  Program program;
  program.begin().store(kA, 1).end();
  program.begin().store(kB, 2).end();
  OracleBench bench(program);
  const auto torn = bench.holds(kB, 2).finding();
  ASSERT_TRUE(torn);
  EXPECT_EQ(torn->fault, Fault::kTorn);
  EXPECT_EQ(torn->unit, bench.history.region(0, 1));
  EXPECT_EQ(torn->because_of, bench.history.region(0, 2));
  EXPECT_EQ(torn->seen_at, kB);
}

TEST(Oracle, EqualValuesAreDistinguishedByOtherWords) {
  Program program;
  program.begin().store(kA, 1).store(kB, 10).end();
  program.begin().store(kA, 2).store(kB, 20).end();
  program.begin().store(kA, 1).store(kB, 30).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA, 1).holds(kB, 10).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 30).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 20).verdict(), Fault::kTorn);
}

TEST(Oracle, FreeMemoryMayHaveAnyContents) {
  Program program;
  program.begin().allocate(kB, 8).store(kB, 1).store(kB + 8, 2).store(kA, kB).end();
  program.begin().store(kB, 3).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 77).holds(kB + 8, 78).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, kB).verdict(), Fault::kForeignValue);
  EXPECT_EQ(bench.holds(kB, 1).holds(kB + 8, 2).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 3).verdict(), std::nullopt);
}

TEST(Oracle, FreedMemoryIsIgnoredOnceTheFreeingRegionIsInTheImage) {
  Program program;
  program.begin().allocate(kB, 64).store(kB, 1).store(kB + 8, 2).store(kA, kB).end();
  program.begin().store(kA, 0).free(kB).end();
  program.begin().allocate(kB, 64).store(kB, 3).store(kA, kB).end();
  OracleBench bench(program);
  bench.guarantee(0, 1);
  bench.holds(kA, kB).holds(kB, 1).holds(kB + 8, 2);
  EXPECT_EQ(bench.verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 77).verdict(), Fault::kForeignValue);
  EXPECT_EQ(bench.holds(kA, 0).holds(kB + 8, 78).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 3).holds(kA, kB).verdict(), std::nullopt);
}

// The lines of an unfinished region may be unreadable. The oracle then ignores the contents of the
// region's new block until the region commits.
TEST(Oracle, NewBlockOfAnUnfinishedRegionWithUnreadableLinesIsIgnored) {
  Program program;
  program.begin().allocate(kB, 64).store(kB, 1).store(kA, kB).end();
  program.begin().store(kB + 8, 2).store(kA, 7).end();
  const auto holds = [&](bool lines_readable, std::uint64_t pointer, std::uint64_t other) {
    OracleBench bench(
        program, {.promises = kX86Regions, .lines_whole = true, .lines_readable = lines_readable});
    return bench.holds(kA, pointer).holds(kB, pointer == 0 ? 5 : 1).holds(kB + 8, other).verdict();
  };
  EXPECT_EQ(holds(false, 0, 5), std::nullopt);
  EXPECT_EQ(holds(true, 0, 5), Fault::kForeignValue);
  EXPECT_EQ(holds(false, kB, 0), std::nullopt);
  EXPECT_EQ(holds(false, kB, 5), Fault::kForeignValue);
}

TEST(Oracle, MemoryAllocatedAndFreedInOneRegionMayHaveAnyContents) {
  Program program;
  program.begin().allocate(kB, 8).store(kB, 1).free(kB).store(kA, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA, 2).holds(kB, 77).verdict(), std::nullopt);
}

TEST(Oracle, ThreadsAreIndependentUnlessTheyShareWords) {
  Program program;
  program.begin().store(kA, 1).end();
  program.before(0, 1);
  program.begin().store(kA + 8, 2).end();
  program.before(1, 2);
  program.begin().load(kA).store(kB, 3).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA + 8, 2).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 3).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, AlternativeImageDoesNotAffectLaterVerdicts) {
  Program program;
  program.begin().store(kA, 1).end();
  program.begin().store(kB, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 2).verdict_instead(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).holds(kB, 2).verdict_instead(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 0).holds(kB, 0).verdict(), std::nullopt);
  bench.guarantee(0, 1);
  EXPECT_EQ(bench.holds(kB, 2).verdict_instead(), Fault::kLost);
  EXPECT_EQ(bench.holds(kA, 1).holds(kB, 0).verdict(), std::nullopt);
}

TEST(Oracle, CorrectAlternativeImageDoesNotCorrectAWrongImage) {
  Program program;
  program.begin().store(kA, 1).end();
  program.begin().store(kB, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict_instead(), std::nullopt);
  bench.hold_without_notice(kA, 0);
  EXPECT_EQ(bench.verdict(), Fault::kTorn);
}

TEST(Oracle, UnfinishedRegionInPartIsTorn) {
  Program program;
  program.begin().store(kA, 1).store(kB, 2);
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, FailedCompareExchangeReadsItsWord) {
  Program program;
  program.on(0).begin().store(kA, 1).end().before(0, 1);
  program.on(1).begin().compare_in_vain(kA).store(kB, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, NonTemporalStoreNeedsNoFlush) {
  Program program;
  program.store_past_the_caches(kA, 1).fence().store(kB, 2);
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, FenceGuaranteesOnlyTheStoresBeforeIt) {
  Program program;
  program.store(kA, 1).flush(kA).fence().store(kB, 2).flush(kB).fence();
  OracleBench bench(program);
  bench.oracle.guarantee(bench.history.fence(0, 1));
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  bench.oracle.guarantee(bench.history.fence(0, 2));
  EXPECT_EQ(bench.verdict(), Fault::kLost);
}

// Stores outside regions: a line persists whole, and different lines persist in any order.
TEST(Oracle, StoresOfALinePersistInOrder) {
  Program program;
  program.store(kA, 1).store(kA + 8, 2).store(kB, 3).store(kA, 4);
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 3).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA + 8, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 4).verdict(), std::nullopt);
}

// Where two threads store to words of their own, only synchronisation orders them.
TEST(Oracle, StoresOfThreadsToALinePersistInOrderIfSynchronised) {
  for (const bool synchronised : {false, true}) {
    Program program;
    program.store(kA, 1).store(kA + 8, 2);
    if (synchronised) program.before(0, 1);
    program.on(1).store(kA + 16, 3).flush(kA).fence().store(kB, 4);
    OracleBench bench(program);
    const std::optional<Fault> torn = synchronised ? std::optional(Fault::kTorn) : std::nullopt;
    EXPECT_EQ(bench.holds(kA + 16, 3).verdict(), torn);
    EXPECT_EQ(bench.holds(kB, 4).verdict(), torn);
    EXPECT_EQ(bench.holds(kA + 8, 2).verdict(), Fault::kTorn);
    EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
    bench.oracle.guarantee(bench.history.fence(1, 1));
    EXPECT_EQ(bench.holds(kA, 0).holds(kA + 8, 0).verdict(),
              synchronised ? std::optional(Fault::kLost) : std::nullopt);
  }
}

// A read-modify-write sees the one before it.
TEST(Oracle, AtomicUpdatesOrderStoresOfThreads) {
  Program program;
  const std::uint32_t exchange = program.builder.site(trace::SiteKind::kAtomicUpdate, 8, 2);
  program.store(kA, 1).builder.atomic(exchange, kDramBase, 0, 1, 1, true);
  program.on(1).builder.atomic(exchange, kDramBase, 0, 2, 2, true);
  program.store(kA + 8, 2);
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA + 8, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, StoreFollowsThePreviousStoreToItsWord) {
  Program program;
  program.store(kA, 1).flush(kA).fence().store(kB, 2).before(0, 1).store(kB, 3);
  OracleBench bench(program, {.promises = kX86Regions, .lines_whole = false});
  EXPECT_EQ(bench.holds(kB, 3).verdict(), Fault::kTorn) << "it follows what it overwrites";
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

// The region rolls back, since it was not guaranteed, and the overwritten store has not left the
// caches.
TEST(Oracle, RegionMayPersistWithoutTheOverwrittenStore) {
  Program program;
  program.store(kA, 1).begin().store(kA, 2).end();
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kA, 2).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 0).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(HappensBefore, AcquisitionFollowsTheReleasesUpToItsVersion) {
  HappensBefore order(3, 1);
  const HappensBefore::Epoch first = order.now(0);
  order.release(0, 0, 1);
  const HappensBefore::Epoch second = order.now(0);
  order.release(0, 0, 2);
  EXPECT_EQ(order.version(0), 2u);
  EXPECT_TRUE(order.before(0, order.now(0), 0));
  EXPECT_FALSE(order.before(0, first, 1));
  order.acquire(1, 0, 1);
  EXPECT_TRUE(order.before(0, first, 1));
  EXPECT_FALSE(order.before(0, second, 1)) << "the release came earlier in the recording, perhaps";
  const HappensBefore::Epoch of_one = order.now(1);
  order.release(1, 0, 3);
  order.acquire(2, 0, 3);
  EXPECT_TRUE(order.before(1, of_one, 2));
  EXPECT_TRUE(order.before(0, second, 2)) << "by way of the object";
  EXPECT_FALSE(order.before(0, order.now(0), 2));
}

// Two threads release the object in another order than that of its versions.
TEST(HappensBefore, EarlyReleaseIsSeenWithTheOperationsOfItsOwnThread) {
  HappensBefore order(3, 1);
  const HappensBefore::Epoch early = order.now(0), late = order.now(1);
  order.release(0, 0, 2);
  EXPECT_EQ(order.version(0), 0u);
  order.release(1, 0, 1);
  EXPECT_EQ(order.version(0), 2u);
  order.acquire(2, 0, 2);
  EXPECT_TRUE(order.before(0, early, 2));
  EXPECT_TRUE(order.before(1, late, 2));
}

TEST(Oracle, WordsOfALinePersistInAnyOrderIfLinesCanBeTorn) {
  Program program;
  program.store(kA, 1).store(kA + 8, 2).store(kA, 4).flush(kA).fence();
  OracleBench bench(program, {.promises = kX86Regions, .lines_whole = false});
  EXPECT_EQ(bench.holds(kA + 8, 2).verdict(), std::nullopt);
  bench.oracle.guarantee(bench.history.fence(0, 1));
  EXPECT_EQ(bench.holds(kA, 1).verdict(), Fault::kLost);
  EXPECT_EQ(bench.holds(kA, 4).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA + 8, 0).verdict(), Fault::kLost);
}

TEST(Oracle, FenceWithoutAGuaranteeOrdersNothing) {
  Program program;
  program.store(kA, 1).flush(kA).fence().begin().store(kB, 2).end();
  const auto verdict = [&](FencePromise fences) {
    OracleBench bench(program,
                      {.promises = {.whole_regions = true, .fences = fences}, .lines_whole = true});
    EXPECT_EQ(bench.history.fence(0, 1) == ProgramHistory::kNone, fences == FencePromise::kNothing);
    return bench.holds(kB, 2).verdict();
  };
  EXPECT_EQ(verdict(FencePromise::kNothing), std::nullopt);
  EXPECT_EQ(verdict(FencePromise::kFlushed), Fault::kTorn) << "the region comes after the fence";
}

TEST(Oracle, FenceThatCoversStoresNeedsNoFlushes) {
  Program program;
  program.store(kA, 1).store(kB, 2).fence().store(kA + 8, 3);
  OracleBench bench(program, {.promises = {.fences = FencePromise::kStores}, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt) << "without the fence, in any order";
  EXPECT_EQ(bench.holds(kA + 8, 3).verdict(), Fault::kTorn) << "it comes after the fence";
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA + 8, 0).holds(kA, 0).verdict(), std::nullopt);
  bench.oracle.guarantee(bench.history.fence(0, 1));
  EXPECT_EQ(bench.holds(kA, 0).verdict(), Fault::kLost);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, FlushedAndFencedStoreIsGuaranteed) {
  Program program;
  program.store(kA, 1).flush(kA).store(kA + 8, 2).store(kB, 3).fence();
  OracleBench bench(program);
  bench.oracle.guarantee(bench.history.fence(0, 1));
  EXPECT_EQ(bench.verdict(), Fault::kLost);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, StoreFollowsStoresFlushedBeforeTheLastFence) {
  Program program;
  program.store(kA, 1).store(kB, 2).flush(kA).fence().flush(kB).lfence().store(kC, 3);
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kC, 3).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).holds(kB, 0).verdict(), std::nullopt);
}

TEST(Oracle, StoreFollowsStoresFlushedBeforeAnEarlierFence) {
  Program program;
  program.store(kA, 1).store(kB, 2).flush(kA).fence().flush(kB).fence().store(kC, 3);
  OracleBench bench(program);
  EXPECT_EQ(bench.holds(kB, 2).holds(kC, 3).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, RegionFollowsStoresFlushedBeforeItsFenceOrAnEarlierFence) {
  for (const bool inside : {false, true}) {
    Program program;
    program.store(kA, 1).flush(kA);
    if (!inside) program.fence();
    program.begin().store(kB, 2);
    if (inside) program.fence();
    program.store(kC, 3).end();
    OracleBench bench(program);
    EXPECT_EQ(bench.holds(kB, 2).holds(kC, 3).verdict(), Fault::kTorn) << inside;
    EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt) << inside;
  }
}

// Persistent caches persist a thread's stores in the order in which they become visible.
TEST(Oracle, StoresOfAThreadPersistInOrderOnEadr) {
  Program program;
  program.store(kA, 1).store(kB, 2).begin().store(kC, 3).end();
  OracleBench bench(program, {.promises = kEadrRegions, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 0).holds(kC, 3).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

// A bank that fails may have written any of the store's words.
TEST(Oracle, WordsOfOneStorePersistInAnyOrder) {
  Program program;
  program.store(kA, 1).store(kA + 8, 2).store_two(kA, 3).store(kB, 4);
  OracleBench bench(program, {.promises = kEadrRegions, .lines_whole = false});
  EXPECT_EQ(bench.holds(kA, 1).holds(kA + 8, 2).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA, 3).verdict(), std::nullopt) << "without the second word";
  EXPECT_EQ(bench.holds(kA, 1).holds(kA + 8, 3).verdict(), std::nullopt) << "without the first";
  EXPECT_EQ(bench.holds(kB, 4).verdict(), Fault::kTorn) << "what comes behind follows both";
  EXPECT_EQ(bench.holds(kA, 3).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kA + 8, 2).verdict(), Fault::kTorn);
}

// ---- Stores follow the stores of other threads that their thread has read

constexpr Promises kReadsInOrder{.reads_in_order = true, .fences = FencePromise::kStores};

// Thread 1 reads what thread 0 has stored, and stores something itself.
Program& hands_over(Program& program) {
  return program.on(0).store(kA, 1).before(0, 1).on(1).load(kA).store(kB, 2);
}

TEST(Oracle, StoreFollowsStoresThatItsThreadHasRead) {
  Program program;
  hands_over(program);
  OracleBench bench(program, {.promises = kReadsInOrder, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 0).verdict(), std::nullopt);
}

TEST(Oracle, StoreDoesNotFollowReadsWithoutReadsInOrder) {
  Program program;
  hands_over(program);
  OracleBench bench(program, {.promises = {.fences = FencePromise::kStores}, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

TEST(Oracle, StoreDoesNotFollowLaterReads) {
  Program program;
  program.on(0).store(kA, 1).before(0, 1).on(1).store(kB, 2).load(kA).load(kC);
  OracleBench bench(program, {.promises = kReadsInOrder, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

TEST(Oracle, StoreDoesNotFollowReadsOfItsThreadsOwnStores) {
  Program program;
  program.on(0).store(kA, 1).load(kA).store(kB, 2);
  OracleBench bench(program, {.promises = kReadsInOrder, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

// It is unknown which of the two values a racing load has read.
TEST(Oracle, StoreDoesNotFollowRacingReads) {
  Program program;
  program.on(0).store(kA, 1).on(1).load(kA).store(kB, 2);
  OracleBench bench(program, {.promises = kReadsInOrder, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

// Order is passed on from thread to thread, and holds for all later stores.
TEST(Oracle, OrderOfReadsIsTransitiveAcrossThreads) {
  Program program;
  hands_over(program).before(1, 2).on(2).load(kB).store(kC, 3).store(kC + 8, 4);
  OracleBench bench(program, {.promises = kReadsInOrder, .lines_whole = true});
  EXPECT_EQ(bench.holds(kC, 3).holds(kC + 8, 4).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, RegionFollowsStoresThatItsThreadReadBefore) {
  Program program;
  program.on(0).store(kA, 1).before(0, 1).on(1).load(kA).begin().store(kB, 2).end();
  constexpr Promises kBoth = kReadsInOrder | Promises{.whole_regions = true};
  OracleBench bench(program, {.promises = kBoth, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

TEST(Oracle, RegionFollowsStoresOutsideRegionsThatItReads) {
  Program program;
  program.on(0).store(kA, 1).before(0, 1).on(1).begin().load(kA).store(kB, 2).end();
  constexpr Promises kBoth = kReadsInOrder | Promises{.whole_regions = true};
  OracleBench bench(program, {.promises = kBoth, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}

// A fence doesn't make stores of other threads durable that its thread has read. But these persist
// before the thread's later stores.
TEST(Oracle, FenceGuaranteesOnlyStoresOfItsOwnThread) {
  Program program;
  program.on(0).store(kA, 1).before(0, 1).on(1).store(kC, 3).load(kA).fence().store(kB, 2);
  OracleBench bench(program, {.promises = kReadsInOrder, .lines_whole = true});
  bench.oracle.guarantee(bench.history.fence(1, 1));
  EXPECT_EQ(bench.verdict(), Fault::kLost);
  EXPECT_EQ(bench.holds(kC, 3).verdict(), std::nullopt);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), Fault::kTorn);
  EXPECT_EQ(bench.holds(kA, 1).verdict(), std::nullopt);
}
TEST(Oracle, FenceOfAThreadWithoutStoresGuaranteesNothing) {
  Program program;
  program.on(0).store(kA, 1).before(0, 1).on(1).load(kA).fence();
  const OracleBench bench(program, {.promises = kReadsInOrder, .lines_whole = true});
  EXPECT_EQ(bench.history.fence(1, 1), ProgramHistory::kNone);
}

TEST(Oracle, FenceNeedsNoFlushesOnEadr) {
  Program program;
  program.store(kA, 1).store(kB, 2).fence();
  OracleBench bench(program, {.promises = kEadrRegions, .lines_whole = true});
  bench.oracle.guarantee(bench.history.fence(0, 1));
  EXPECT_EQ(bench.holds(kA, 1).verdict(), Fault::kLost);
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

TEST(Oracle, WithoutRegionsEachStoreIsCheckedAlone) {
  Program program;
  program.begin().store(kA, 1).store(kB, 2).end();
  OracleBench bench(program, {.promises = {.fences = FencePromise::kFlushed}, .lines_whole = true});
  EXPECT_EQ(bench.holds(kB, 2).verdict(), std::nullopt);
}

}  // namespace
}  // namespace pmemsim
