// Where lines lie, and that no two lines lie in the same location.
#include "pmemsim/machine/memory/mapping.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <tuple>
#include <utility>

namespace pmemsim {
namespace {

MemoryParameters two_by_two() {
  MemoryParameters p;
  p.controllers = 2;
  p.channels_per_controller = 2;
  p.ranks = 1;
  p.banks_per_rank = 4;
  p.row_size = {8192};
  p.page_size = {4096};
  return p;
}

TEST(MemoryMapping, PagesInterleaveChannelsThenBanksThenRows) {
  const Mapping mapping(two_by_two());
  const auto page = [&](std::uint64_t number) { return mapping.locate(Line{number * 64}); };
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(page(i).channel, i);
  EXPECT_EQ(page(3).bank, 0u);
  EXPECT_EQ(page(4).channel, 0u);
  EXPECT_EQ(page(4).bank, 1u);
  EXPECT_EQ(page(16).bank, 0u);
  EXPECT_EQ(page(16).row, 0u);  // two pages to a row
  EXPECT_EQ(page(32).row, 1u);
  const DeviceLocation first = mapping.locate(Line{64});
  const DeviceLocation last = mapping.locate(Line{127});
  EXPECT_EQ(std::tie(first.channel, first.bank, first.row),
            std::tie(last.channel, last.bank, last.row));
}

TEST(MemoryMapping, LinesInterleaveChannelsThenBanksThenRows) {
  MemoryParameters p = two_by_two();
  p.interleaving = Interleaving::kLine;
  const Mapping mapping(p);
  EXPECT_EQ(mapping.locate(Line{1}).channel, 1u);
  EXPECT_EQ(mapping.locate(Line{4}).channel, 0u);
  EXPECT_EQ(mapping.locate(Line{4}).bank, 1u);
  EXPECT_EQ(mapping.locate(Line{16}).bank, 0u);
  EXPECT_EQ(mapping.locate(Line{16 * 128 - 1}).row, 0u);
  EXPECT_EQ(mapping.locate(Line{16 * 128}).row, 1u);
}

TEST(MemoryMapping, PageLargerThanARowFillsSeveralRows) {
  MemoryParameters p = two_by_two();
  p.row_size = {1024};
  const Mapping mapping(p);
  EXPECT_EQ(mapping.locate(Line{15}).row, 0u);
  EXPECT_EQ(mapping.locate(Line{16}).row, 1u);
  EXPECT_EQ(mapping.locate(Line{63}).row, 3u);
  EXPECT_EQ(mapping.locate(Line{16 * 64}).row, 4u);
}

class EveryMapping : public testing::TestWithParam<bool> {};

TEST_P(EveryMapping, EveryRowGetsExactlyItsLines) {
  for (const std::uint32_t channels : {1u, 2u, 3u, 4u, 6u}) {
    for (const Interleaving interleaving : {Interleaving::kPage, Interleaving::kLine}) {
      MemoryParameters p = two_by_two();
      p.controllers = channels;
      p.channels_per_controller = 1;
      p.interleaving = interleaving;
      p.row_size = {2048};
      p.channel_hashing = p.bank_hashing = GetParam();
      const Mapping mapping(p);
      std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint64_t> lines;
      const std::uint64_t rows = 4;
      const std::uint64_t total = channels * 4 * rows * 32;
      for (std::uint64_t line = 0; line < total; ++line) {
        const DeviceLocation location = mapping.locate(Line{line});
        EXPECT_LT(location.channel, channels);
        EXPECT_LT(location.bank, 4u);
        ++lines[{location.channel, location.bank, location.row}];
      }
      EXPECT_EQ(lines.size(), channels * 4 * rows);
      for (const auto& [location, count] : lines) EXPECT_EQ(count, 32u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(MemoryMapping, EveryMapping, testing::Bool());

MemoryParameters hashed(std::uint32_t channels) {
  MemoryParameters p = two_by_two();
  p.controllers = channels;
  p.channels_per_controller = 1;
  p.banks_per_rank = 8;
  p.channel_hashing = p.bank_hashing = true;
  return p;
}

TEST(HashedMapping, ConsecutivePagesAreInDifferentChannelsAndBanks) {
  for (const std::uint32_t channels : {2u, 3u, 4u, 6u}) {
    const Mapping mapping(hashed(channels));
    for (std::uint64_t first = 0; first < 1000 * channels; first += channels) {
      std::uint64_t used = 0;
      for (std::uint64_t i = 0; i < channels; ++i) {
        used |= std::uint64_t{1} << mapping.locate(Line{(first + i) * 64}).channel;
      }
      EXPECT_EQ(used, (std::uint64_t{1} << channels) - 1) << channels << " channels, " << first;
    }
  }
}

TEST(HashedMapping, PagesAtPowersOfTwoUseAllChannelsAndBanks) {
  for (const std::uint32_t channels : {2u, 4u, 8u}) {
    const Mapping mapping(hashed(channels));
    for (unsigned distance = 4; distance < 20; ++distance) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, int> pages;
      for (std::uint64_t i = 0; i < 512; ++i) {
        const DeviceLocation location = mapping.locate(Line{(i << distance) * 64});
        ++pages[{location.channel, location.bank}];
      }
      EXPECT_GE(pages.size(), 8u) << channels << " channels, 2^" << distance << " pages";
      for (const auto& [location, count] : pages) {
        EXPECT_LE(count, 64) << channels << " channels, 2^" << distance << " pages";
      }
    }
  }
}

TEST(HashedMapping, ChannelIsTheXorOfAllHigherGroupsOfBits) {
  MemoryParameters p = hashed(2);
  const Mapping mapping(p);
  for (const std::uint64_t page : {0x0u, 0x1u, 0x2u, 0x3u, 0x12345u, 0x80000001u}) {
    EXPECT_EQ(mapping.locate(Line{page * 64}).channel, std::popcount(page) % 2) << page;
  }
  p.channel_hashing = false;
  EXPECT_EQ(Mapping(p).locate(Line{2 * 64}).channel, 0u);
}

TEST(HashedMapping, PagesOfARowRemainInOneBank) {
  const Mapping mapping(hashed(1));  // two pages to a row
  for (std::uint64_t row = 0; row < 64; row += 2) {
    for (std::uint64_t bank = 0; bank < 8; ++bank) {
      const auto page = [&](std::uint64_t which) {
        return mapping.locate(Line{((row + which) * 8 + bank) * 64});
      };
      EXPECT_EQ(page(0).bank, page(1).bank);
      EXPECT_EQ(page(0).row, page(1).row);
    }
  }
}

}  // namespace
}  // namespace pmemsim
