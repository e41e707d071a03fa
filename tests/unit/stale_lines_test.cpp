// Lines that the caches hold with stale contents (designs/interface/stale_lines.hpp), and the loads
// that read them.
#include <gtest/gtest.h>

#include "pmemsim/designs/interface/stale_lines.hpp"
#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "unit/ordering_bench.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kFirst = pm_word(0, 0), kSecond = pm_word(0, 1), kOther = pm_word(1);
constexpr Line kHeld = pm_line_of(0);

class StaleLinesTest : public testing::Test {
 protected:
  StaleLinesTest() : bench(2, std::make_unique<NoOrdering>()) {
    lines.connect({bench.queue, bench.clock, bench, bench.backend, bench.dram, bench.pm_space,
                   bench.program_events, bench});
  }
  // A store becomes visible.
  void store(std::uint64_t address, std::uint64_t value) {
    bench.pm_space.newest().write(address, reinterpret_cast<const std::byte*>(&value), 8);
    lines.stored(Line::of(address), bytes_from(address % kLineBytes, 8));
  }
  bool read(std::uint64_t first_word) { return lines.read(kHeld, data_of(first_word)); }
  bool load(std::uint64_t address, bool forwarded = false, std::uint32_t size = 8) {
    return lines.loaded({1, address, size, 3, forwarded}, 3);
  }

  OrderingBench bench;
  StaleLines lines;
};

TEST_F(StaleLinesTest, ReadThatDiffersFromTheNewestBytesIsStale) {
  store(kFirst, 5);
  EXPECT_FALSE(read(5));
  EXPECT_TRUE(read(4));
}

TEST_F(StaleLinesTest, LoadOfStaleBytesIsReported) {
  store(kFirst, 5);
  EXPECT_FALSE(load(kFirst));
  read(4);
  EXPECT_TRUE(load(kFirst));
  EXPECT_EQ(lines.loads(), 1);
  EXPECT_EQ(bench.stale_loads, (std::vector<std::pair<CoreId, std::uint64_t>>{{1, 3}}));
}

TEST_F(StaleLinesTest, LoadOfBytesThatAreNotStaleIsNotReported) {
  store(kFirst, 5);
  read(4);
  EXPECT_FALSE(load(kSecond));
  EXPECT_FALSE(load(kOther));
  EXPECT_FALSE(load(kFirst + 1, false, 7)) << "of the same word, bytes that haven't changed";
  EXPECT_TRUE(load(kFirst, false, 1));
  EXPECT_TRUE(load(kFirst, false, 16));
}

TEST_F(StaleLinesTest, LoadForwardedFromItsOwnStoreIsNotReported) {
  store(kFirst, 5);
  read(4);
  EXPECT_FALSE(load(kFirst, true));
  EXPECT_TRUE(bench.stale_loads.empty());
}

// A later store makes its own bytes current. The bytes of another store that the read has missed
// stay stale.
TEST_F(StaleLinesTest, StoreMakesOnlyItsOwnBytesCurrent) {
  store(kFirst, 5);
  store(kSecond, 6);
  read(0);
  store(kFirst, 7);
  EXPECT_FALSE(load(kFirst));
  EXPECT_TRUE(load(kSecond));
  store(kSecond, 8);
  EXPECT_FALSE(load(kSecond));
}

// A line without stale bytes is removed, so that later visible data do not make it stale.
TEST_F(StaleLinesTest, LineWithoutStaleBytesIsRemoved) {
  store(kFirst, 5);
  read(4);
  store(kFirst, 6);
  bench.pm_space.newest().write(kHeld, data_of(7));  // no store makes this change
  EXPECT_FALSE(load(kFirst)) << "the caches hold the newest, whatever that is";
}

TEST_F(StaleLinesTest, SecondReadReplacesTheStaleBytesOfALine) {
  store(kFirst, 5);
  read(4);
  read(3);
  EXPECT_TRUE(load(kFirst));
  read(5);
  EXPECT_FALSE(load(kFirst));
}

TEST_F(StaleLinesTest, DroppedLineIsNoLongerStale) {
  store(kFirst, 5);
  read(4);
  lines.forget(kHeld);
  EXPECT_FALSE(load(kFirst));
  lines.forget(kHeld);  // nothing to forget
}

}  // namespace
}  // namespace pmemsim
