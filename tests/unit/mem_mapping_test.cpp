// Where lines lie, and that no two lines lie in the same location.
#include "pmemsim/machine/memory/mapping.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

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

TEST(MemoryMapping, EveryRowGetsExactlyItsLines) {
  for (const std::uint32_t channels : {1u, 3u, 4u, 6u}) {
    for (const Interleaving interleaving : {Interleaving::kPage, Interleaving::kLine}) {
      MemoryParameters p = two_by_two();
      p.controllers = channels;
      p.channels_per_controller = 1;
      p.interleaving = interleaving;
      p.row_size = {2048};
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

}  // namespace
}  // namespace pmemsim
