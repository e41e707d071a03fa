// The frames of a program's pages: equal to the addresses, or spread evenly, with different frames
// for each copy.
#include "pmemsim/common/page_placement.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/machine/memory/mapping.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kPageLines = 4096 / kLineBytes;
constexpr std::uint64_t kCopy = trace::kMaxAddress / kLineBytes;
// Addresses like those of the persistent heap and of a stack.
constexpr std::uint64_t kHeap = 0x200000000000 / kLineBytes, kStack = 0x7fff00000000 / kLineBytes;

const PageFrames kRandom(PagePlacement::kRandom);

TEST(PageFrames, FrameEqualsTheAddressUnlessPlacementIsRandom) {
  EXPECT_EQ(PageFrames().frame_line({kHeap + 5}), Line{kHeap + 5});
  EXPECT_EQ(PageFrames(PagePlacement::kContiguous).frame_line({kStack}), Line{kStack});
  EXPECT_NE(kRandom.frame_line({kHeap}), Line{kHeap});
}

TEST(PageFrames, NoTwoPagesShareAFrame) {
  std::set<Line> frames;
  std::size_t pages = 0;
  for (const std::uint64_t base : {std::uint64_t{0}, kHeap, kStack, kHeap + 63 * kCopy}) {
    for (std::uint64_t page = 0; page < 10'000; ++page, ++pages) {
      const Line frame = kRandom.frame_line({base + page * kPageLines});
      EXPECT_EQ(frame.number % kPageLines, 0u);
      EXPECT_LT(frame.number, 64 * kCopy);
      frames.insert(frame);
    }
  }
  EXPECT_EQ(frames.size(), pages);
}

TEST(PageFrames, LinesOfAPageStayTogether) {
  const Line frame = kRandom.frame_line({kHeap});
  for (std::uint64_t line = 0; line < kPageLines; ++line) {
    EXPECT_EQ(kRandom.frame_line({kHeap + line}), Line{frame.number + line});
  }
}

// Logs and a controller's own lines.
TEST(PageFrames, LinesOutsideProgramAddressesAreNotMoved) {
  for (const std::uint64_t line : {64 * kCopy, 64 * kCopy + 1, (std::uint64_t{1} << 55) / 64}) {
    EXPECT_EQ(kRandom.frame_line({line}), Line{line});
  }
}

TEST(PageFrames, SpreadsPagesOverTheBanks) {
  MemoryParameters parameters;
  parameters.controllers = parameters.channels_per_controller = parameters.ranks = 1;
  parameters.banks_per_rank = 8;
  const Mapping mapping(parameters, kRandom);
  constexpr std::uint64_t kPages = 8000;
  std::array<unsigned, 8> pages{};
  unsigned together = 0;
  for (std::uint64_t page = 0; page < kPages; ++page) {
    const Line line{kHeap + page * kPageLines};
    const std::uint32_t bank = mapping.locate(line).bank;
    ++pages[bank];
    together += bank == mapping.locate({line.number + kCopy}).bank;
  }
  // The tolerance is five times the standard deviation of a binomial distribution with mean 1,000.
  for (const unsigned count : pages) EXPECT_NEAR(count, 1000, 150);
  EXPECT_NEAR(together, 1000, 150);
}

// Pages of one colour fill a set of a cache that they needn't share.
TEST(PageFrames, PlacementDeterminesTheSetsThatPagesShare) {
  constexpr std::uint64_t kSets = 1024, kWays = 2, kPages = 64;
  const auto kept = [](PageFrames frames) {
    CacheArray<int> cache(kSets * kWays * kLineBytes, kWays, frames);
    for (std::uint64_t page = 0; page < kPages; ++page) {
      const Line line{kHeap + page * kSets};
      const std::size_t way = cache.victim(line);
      cache.install(way, line, 0);
    }
    unsigned found = 0;
    for (std::uint64_t page = 0; page < kPages; ++page) {
      found += cache.find({kHeap + page * kSets}) != kNoWay;
    }
    return found;
  };
  EXPECT_EQ(kept(PageFrames()), kWays);
  // 64 pages fall on 16 colours of two ways.
  EXPECT_GT(kept(kRandom), 20u);
  EXPECT_LE(kept(kRandom), 32u);
}

}  // namespace
}  // namespace pmemsim
