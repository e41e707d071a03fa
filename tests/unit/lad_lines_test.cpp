// LAD between real memory and caches that the test simulates: lines that a region holds while other
// regions write them, too.
#include <gtest/gtest.h>

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/lad.hpp"
#include "pmemsim/designs/atomicity/lad_recovery.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "unit/memory_bench.hpp"
#include "unit/platform.hpp"

namespace pmemsim {
namespace {

const Line kShared = Line::of(kPmBase), kBeside{kShared.number + 1};

class LadBench {
 public:
  LadBench()
      : platform(configure(settings({{"core.count", "3"}, {"atomicity", "lad"}}))),
        lad(dynamic_cast<Lad&>(platform.design.atomicity())) {}

  void begin(CoreId core) { EXPECT_TRUE(lad.region_begin(core, 1, platform.now(), {})); }
  // Stores a value that only this word gets, in region 1 or outside regions.
  void store(CoreId core, Line line, std::uint64_t word, std::uint64_t region = 1) {
    const LineData value = data_of(word + 1);
    Image& newest = platform.pm_space.newest();
    const Store store{core, 0, line.address() + 8 * word, 8, value.data(), newest, region};
    EXPECT_TRUE(lad.store(store, platform.now(), {}));
    newest.write(store.address, value.data(), 8);
  }
  void evict(Line line) {
    const LineData data = newest(line);
    if (lad.evicted(line, data, platform.now()) == Eviction::kWrite) write(line);
  }
  // Begins a region that doesn't end here, stores to two lines, and evicts the shared one.
  void store_and_evict(CoreId core) {
    begin(core);
    store(core, kShared, core);
    store(core, kBeside, core);
    evict(kShared);
  }
  void write(Line line) {
    platform.design.backend().write(
        {.line = line, .data = newest(line), .persisted = {}, .written = {}});
  }
  // Flushes the line, and returns when it is logged and written.
  void flush(CoreId core, Line line) {
    bool logged = false;
    EXPECT_FALSE(lad.flush(
        core, line, platform.now(),
        {[](void* flag, std::uint64_t, Time) { *static_cast<bool*>(flag) = true; }, &logged, 0}));
    platform.until([&] { return logged; });
    write(line);
  }
  void end(CoreId core) {
    EXPECT_FALSE(lad.region_end(core, 1, platform.now(), completion<&LadBench::ended>(*this)));
  }
  void step(int events) {
    for (; events > 0; --events) platform.queue.step();
  }
  LineData newest(Line line) const { return platform.pm_space.newest().read(line); }
  // Runs to the end, and expects the newest contents of the shared line in PM. The line is clean in
  // the caches then.
  void expect_newest_in_pm() {
    platform.run();
    EXPECT_EQ(platform.pm.newest(kShared), newest(kShared));
    EXPECT_EQ(lad.pending(), "");
  }

  Platform platform;
  Lad& lad;

 private:
  void ended(std::uint64_t, Time) {}
};

// Number of points in time in a region's protocol: after 0, 1, 2, ... events.
constexpr int kMoments = 40;

TEST(LadLines, EvictionOutsideRegionsIsNotUndoneByEarlierRegionWrites) {
  for (int moment = 0; moment < kMoments; ++moment) {
    SCOPED_TRACE(moment);
    LadBench bench;
    bench.store_and_evict(0);
    bench.step(moment);
    bench.store(1, kShared, 1, 0);
    bench.evict(kShared);
    bench.platform.run();
    bench.end(0);
    bench.expect_newest_in_pm();
  }
}

TEST(LadLines, EvictionOutsideRegionsIsNotUndoneByTheEndOfARegion) {
  for (int moment = 0; moment < kMoments; ++moment) {
    SCOPED_TRACE(moment);
    LadBench bench;
    bench.store_and_evict(0);
    bench.platform.run();
    bench.store(0, kShared, 2);
    bench.end(0);
    bench.step(moment);
    bench.store(1, kShared, 1, 0);
    bench.evict(kShared);
    bench.expect_newest_in_pm();
  }
}

// A flush writes the contents that the line has when the flush arrives; the design isn't notified
// of that.
TEST(LadLines, WriteInPlaceDoesNotUndoAFlushThatLeftTheCachesLater) {
  LadBench bench;
  bench.begin(0);
  bench.store(0, kShared, 0);
  bench.flush(0, kShared);
  bench.store(0, kShared, 2);
  bench.end(0);
  bench.store(1, kShared, 1, 0);
  EXPECT_TRUE(bench.lad.may_leave(kShared));
  bench.write(kShared);
  bench.expect_newest_in_pm();
}

TEST(LadLines, CommitDoesNotUndoLaterStoresOfAnotherRegion) {
  for (int moment = 0; moment < kMoments; ++moment) {
    SCOPED_TRACE(moment);
    LadBench bench;
    bench.begin(0);
    bench.store(0, kShared, 0);
    bench.flush(0, kShared);
    bench.begin(1);
    bench.store(1, kShared, 1);
    bench.end(1);
    bench.step(moment);
    bench.store(0, kShared, 2);
    bench.end(0);
    bench.expect_newest_in_pm();
  }
}

// The regions commit in another order than their data left the caches.
TEST(LadLines, LateCommitDoesNotUndoCommitsOfTwoOtherRegions) {
  LadBench bench;
  bench.store_and_evict(0);
  bench.platform.run();
  bench.begin(1);
  bench.store(1, kShared, 1);
  bench.end(1);
  bench.store_and_evict(2);
  for (const CoreId core : {2u, 0u}) {
    bench.platform.run();
    bench.end(core);
  }
  bench.expect_newest_in_pm();
}

TEST(LadLines, EvictedUncommittedLinesSurviveInTheOrderOfTheirEviction) {
  LadBench bench;
  for (const CoreId core : {1u, 0u}) {
    bench.store_and_evict(core);
    bench.platform.run();
  }
  const Lad::Survivors survivors = bench.lad.survivors();
  ASSERT_EQ(survivors.kept.size(), 2u);
  EXPECT_EQ(survivors.kept[0].core, 1u);
  EXPECT_EQ(survivors.kept[1].core, 0u);
}

// Rule 6.
TEST(LadRecovery, RegionIsCommittedIfAnyControllerHasCommittedIt) {
  for (const Lad::Survivors& survivors :
       {Lad::Survivors{{{1}, {0}}, {{0, 1, kShared, data_of(7)}}, {}},
        Lad::Survivors{{{0}, {1}}, {{0, 1, kShared, data_of(7)}}, {}}}) {
    EXPECT_EQ(committed_region(survivors, 0), 1u);
    Image image;
    recover_lad(survivors, image);
    EXPECT_EQ(image.read(kShared), data_of(7));
  }
}

}  // namespace
}  // namespace pmemsim
