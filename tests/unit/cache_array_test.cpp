// One cache's tags, and on top of them the two private levels, and a cache of metadata.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/designs/backend/metadata_cache.hpp"
#include "pmemsim/machine/cache/private_caches.hpp"

namespace pmemsim {
namespace {

using Array = CacheArray<int>;

std::size_t put(Array& array, std::uint64_t line, int meta) {
  const std::size_t way = array.victim({line});
  array.install(way, {line}, meta);
  return way;
}

TEST(CacheArray, OnlyInstalledLinesAreFound) {
  Array array(4 * 2 * 64, 2);  // four sets
  EXPECT_EQ(array.sets(), 4u);
  const std::size_t way = put(array, 5, 42);
  EXPECT_EQ(array.find({5}), way);
  EXPECT_EQ(array.meta(way), 42);
  EXPECT_EQ(array.line(way), Line{5});
  EXPECT_EQ(array.find({1}), kNoWay);  // the same set
  array.remove(way);
  EXPECT_EQ(array.find({5}), kNoWay);
  EXPECT_FALSE(array.occupied(way));
}

TEST(CacheArray, LeastRecentlyUsedLineIsReplaced) {
  Array array(4 * 2 * 64, 2);
  put(array, 0, 1);
  put(array, 4, 2);
  array.touch(array.find({0}));
  EXPECT_EQ(array.line(array.victim({8})), Line{4});
  put(array, 8, 3);
  EXPECT_EQ(array.find({4}), kNoWay);
  EXPECT_NE(array.find({0}), kNoWay);
  EXPECT_EQ(array.line(array.victim({12})), Line{0});  // installing counts as use
}

TEST(CacheArray, EmptyWayIsUsedFirst) {
  Array array(2 * 64, 2);
  put(array, 0, 1);
  put(array, 1, 2);
  array.touch(array.find({0}));
  array.remove(array.find({0}));
  EXPECT_FALSE(array.occupied(array.victim({2})));
}

// find() remembers where it has found lines. Lines 0 and 4 of this array share that memory.
TEST(CacheArray, LineThatHasMovedIsFoundInItsNewWay) {
  Array array(2 * 2 * 64, 2);
  const std::size_t way = put(array, 0, 1);
  EXPECT_EQ(array.find({0}), way);
  array.remove(way);
  EXPECT_EQ(array.find({0}), kNoWay);
  EXPECT_EQ(put(array, 4, 2), way);
  const std::size_t other = put(array, 0, 3);
  EXPECT_NE(other, way);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(array.find({0}), other);
    EXPECT_EQ(array.find({4}), way);
  }
}

TEST(CacheArray, SetsNeedNoPowerOfTwo) {
  Array array(3 * 64, 1);
  for (std::uint64_t line = 0; line < 3; ++line) put(array, line, static_cast<int>(line));
  for (std::uint64_t line = 0; line < 3; ++line) {
    ASSERT_NE(array.find({line}), kNoWay);
    EXPECT_EQ(array.line(array.victim({line + 3})), Line{line});
  }
}

// L1: two lines of two sets. L2: four lines of two sets, two ways. Latencies 4 and 10, of the
// tags alone 3 and 6.
class Private : public testing::Test {
 protected:
  Departure fill(std::uint64_t line, LineState state = LineState::kExclusive, Slot ready = 0) {
    return caches.fill({line}, state, ready);
  }
  PrivateCaches caches{{2 * 64, 1, 4, 3}, {4 * 64, 2, 10, 6}};
};

TEST_F(Private, LookUpsAddTheirLatencies) {
  EXPECT_FALSE(caches.look_up({0}, 100).hit);
  EXPECT_EQ(caches.look_up({0}, 100).done, 109);  // when the request leaves
  fill(0);
  EXPECT_TRUE(caches.look_up({0}, 100).in_l1);
  EXPECT_EQ(caches.look_up({0}, 100).done, 104);
  fill(2);  // pushes line 0 out of the L1
  const PrivateCaches::Lookup again = caches.look_up({0}, 100);
  EXPECT_TRUE(again.hit);
  EXPECT_FALSE(again.in_l1);
  EXPECT_EQ(again.done, 113);
  EXPECT_TRUE(caches.look_up({0}, 200).in_l1);  // it has come back
}

TEST_F(Private, LookUpWaitsForDataInFlight) {
  fill(0, LineState::kExclusive, 500);
  EXPECT_EQ(caches.look_up({0}, 100).done, 500);
  EXPECT_EQ(caches.look_up({0}, 600).done, 604);
}

TEST_F(Private, L1AloneServesAccessesInOneOfItsLines) {
  fill(0, LineState::kExclusive, 500);
  EXPECT_EQ(caches.find_in_l1(60, 8), kNoWay);  // also in line 1
  EXPECT_EQ(caches.find_in_l1(64, 8), kNoWay);
  const std::size_t way = caches.find_in_l1(56, 8);
  ASSERT_NE(way, kNoWay);
  EXPECT_EQ(caches.read_l1(way, 100), 500);
  EXPECT_EQ(caches.read_l1(way, 600), 604);
  fill(2);  // pushes line 0 out of the L1
  EXPECT_EQ(caches.find_in_l1(0, 8), kNoWay);
  EXPECT_NE(caches.find_in_l1(128, 8), kNoWay);
  caches.mark_prefetched({2});
  EXPECT_EQ(caches.find_in_l1(128, 8), kNoWay) << "its first use trains the prefetcher";
}

TEST_F(Private, L1AloneIsWrittenOnlyInAWritableState) {
  EXPECT_EQ(caches.write_in_l1({0}), kUnknownSlot);
  fill(0, LineState::kShared);
  EXPECT_FALSE(caches.ready_for_write({0}));
  EXPECT_EQ(caches.write_in_l1({0}), kUnknownSlot);
  EXPECT_FALSE(caches.modified({0}));
  fill(0, LineState::kExclusive, 70);
  EXPECT_TRUE(caches.ready_for_write({0}));
  EXPECT_FALSE(caches.modified({0}));
  EXPECT_EQ(caches.write_in_l1({0}), 70);
  EXPECT_TRUE(caches.modified({0}));
  caches.mark_prefetched({0});
  EXPECT_FALSE(caches.ready_for_write({0})) << "its first use trains the prefetcher";
}

TEST(PrivateWays, AllAccessesCountAsUses) {
  PrivateCaches caches({2 * 64, 2, 4, 3}, {0, 8, 10, 6});
  const auto fill_both = [&] {
    caches.fill({0}, LineState::kExclusive, 0);
    caches.fill({1}, LineState::kExclusive, 0);
  };
  const std::function<void()> uses[] = {
      [&] { caches.read_l1(caches.find_in_l1(0, 8), 0); },
      [&] { caches.ready_for_write({0}); },
      [&] { caches.write_in_l1({0}); },
  };
  for (const auto& use_first : uses) {
    fill_both();
    use_first();
    EXPECT_EQ(caches.fill({2}, LineState::kExclusive, 0).line, Line{1});
    caches.invalidate({2});
    caches.invalidate({0});
  }
  fill_both();
  caches.find_in_l1(0, 8);  // a look alone is no use
  EXPECT_EQ(caches.fill({2}, LineState::kExclusive, 0).line, Line{0});
}

TEST_F(Private, ModifiedL1VictimMakesTheL2LineModified) {
  fill(0);
  caches.write({0});
  EXPECT_FALSE(fill(2).happened);  // line 0 leaves the L1, not the L2
  EXPECT_EQ(caches.look_up({0}, 0).state, LineState::kModified);
  EXPECT_TRUE(caches.invalidate({0}));
}

TEST_F(Private, L2VictimIsRemovedFromTheL1) {
  fill(0);
  fill(2);
  const Departure departure = fill(4);
  EXPECT_TRUE(departure.happened);
  EXPECT_EQ(departure.line, Line{0});
  EXPECT_FALSE(departure.dirty);
  EXPECT_FALSE(caches.look_up({0}, 0).hit);
}

TEST_F(Private, VictimIsDirtyIfEitherLevelIsDirty) {
  fill(0);
  caches.write({0});
  fill(1);  // another set
  fill(2);  // line 0 only in the L2 now, modified
  EXPECT_TRUE(fill(4).dirty);
  // and from the L1: line 4 is modified there, but not marked so in the L2
  caches.write({4});
  caches.look_up({2}, 0);
  caches.look_up({4}, 0);
  fill(6);
  const Departure departure = fill(8);
  EXPECT_EQ(departure.line, Line{4});
  EXPECT_TRUE(departure.dirty);
}

TEST_F(Private, InvalidateDowngradeAndCleanReportDirtyLines) {
  for (const bool dirty : {false, true}) {
    fill(0);
    if (dirty) caches.write({0});
    EXPECT_EQ(caches.mark_clean({0}), dirty);
    EXPECT_EQ(caches.look_up({0}, 0).state, LineState::kExclusive);
    EXPECT_FALSE(caches.mark_clean({0}));
    if (dirty) caches.write({0});
    EXPECT_EQ(caches.downgrade({0}), dirty);
    EXPECT_EQ(caches.look_up({0}, 0).state, LineState::kShared);
    EXPECT_FALSE(caches.mark_clean({0}));
    EXPECT_EQ(caches.look_up({0}, 0).state, LineState::kShared);  // cleaning shares no more
    EXPECT_FALSE(caches.invalidate({0}));
    EXPECT_FALSE(caches.look_up({0}, 0).hit);
  }
}

TEST_F(Private, UpgradeKeepsTheWayOfTheLine) {
  fill(0, LineState::kShared);
  EXPECT_FALSE(fill(0, LineState::kExclusive, 70).happened);
  EXPECT_EQ(caches.look_up({0}, 0).state, LineState::kExclusive);
  EXPECT_EQ(caches.look_up({0}, 0).done, 70);
}

TEST(PrivateWithoutL2, LooksUpAndEvictsInTheL1Alone) {
  PrivateCaches caches({2 * 64, 2, 4, 3}, {0, 8, 10, 6});
  EXPECT_EQ(caches.look_up({0}, 0).done, 3);
  caches.fill({0}, LineState::kExclusive, 0);
  caches.write({0});
  caches.fill({1}, LineState::kExclusive, 0);
  const Departure departure = caches.fill({2}, LineState::kExclusive, 0);
  EXPECT_EQ(departure.line, Line{0});
  EXPECT_TRUE(departure.dirty);
  EXPECT_FALSE(caches.invalidate({1}));
}

// An eighth of the cache is filled, for example with the levels of a tree.
TEST(MetadataCache, AreasAtPowerOfTwoDistancesDoNotShareSets) {
  MetadataCache cache({.size_per_core = {512 << 10}, .ways = 16}, 1);
  const auto look_up_all = [&] {
    for (std::uint64_t area = 0; area < 64; ++area) {
      for (std::uint64_t line = 0; line < 16; ++line) cache.look_up({(area << 48) + line}, true);
    }
  };
  look_up_all();
  look_up_all();
  EXPECT_EQ(cache.statistics().misses, 64u * 16);
  EXPECT_EQ(cache.statistics().hits, 64u * 16);
  EXPECT_EQ(cache.statistics().write_backs, 0u);
}

TEST(MetadataCache, AreaOfTheCacheSizeFitsCompletely) {
  MetadataCache cache({.size_per_core = {256 << 10}, .ways = 16}, 1);
  constexpr std::uint64_t kBegin = 5 << 12;
  for (std::uint64_t line = 0; line < 4096; ++line) cache.look_up({kBegin + line}, false);
  for (std::uint64_t line = 0; line < 4096; ++line) EXPECT_TRUE(cache.contains({kBegin + line}));
}

TEST(MetadataCache, EvictedLineIsReturnedOnlyIfItIsDirty) {
  MetadataCache cache({.size_per_core = {2 * 64}, .ways = 2}, 1);
  const Line first{(7ull << 48) + 9}, second{8}, third{5000}, fourth{70'000};
  EXPECT_FALSE(cache.look_up(first, true).hit);
  EXPECT_TRUE(cache.look_up(first, false).hit);
  cache.look_up(second, true);
  EXPECT_TRUE(cache.mark_clean(second));
  EXPECT_FALSE(cache.mark_clean(second));
  EXPECT_EQ(cache.look_up(third, false).evicted, first);
  EXPECT_EQ(cache.look_up(fourth, false).evicted, std::nullopt) << "PM has the second one";
  EXPECT_FALSE(cache.contains(second));
}

}  // namespace
}  // namespace pmemsim
