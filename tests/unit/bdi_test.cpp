// Compressed lines: their sizes, computed by hand, and that decompression restores them.
#include "pmemsim/designs/backend/bdi.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace pmemsim {
namespace {

template <class Element>
LineData line_of(const std::vector<Element>& elements) {
  LineData data{};
  std::memcpy(data.data(), elements.data(), elements.size() * sizeof(Element));
  return data;
}

// 0: not at all.
std::uint32_t compressed_bytes(const LineData& data) {
  const auto compressed = compress(data);
  if (!compressed) return 0;
  EXPECT_EQ(decompress(compressed->line), data);
  for (std::size_t at = compressed->bytes; at < kLineBytes; ++at) {
    EXPECT_EQ(compressed->line[at], std::byte{0}) << "the rest is zero";
  }
  return compressed->bytes;
}

constexpr std::uint64_t kBase = 0x7f00'1234'5678'9ab0;

std::vector<std::uint64_t> eight_near(std::uint64_t difference) {
  std::vector<std::uint64_t> words(8, kBase);
  words[5] += difference;
  return words;
}

// The first byte is the encoding; mask, base and differences follow.
TEST(Bdi, ShortestEncodingIsUsed) {
  EXPECT_EQ(compressed_bytes({}), 1u);
  EXPECT_EQ(compressed_bytes(line_of(std::vector<std::uint64_t>(8, kBase))), 1 + 8u);
  EXPECT_EQ(compressed_bytes(line_of(eight_near(0x7f))), 1 + 1 + 8 + 8 * 1u);
  EXPECT_EQ(compressed_bytes(line_of(eight_near(0x80))), 1 + 1 + 8 + 8 * 2u);
  EXPECT_EQ(compressed_bytes(line_of(eight_near(-std::uint64_t{0x80}))), 1 + 1 + 8 + 8 * 1u);
  EXPECT_EQ(compressed_bytes(line_of(eight_near(-std::uint64_t{0x8000}))), 1 + 1 + 8 + 8 * 2u);
  EXPECT_EQ(compressed_bytes(line_of(eight_near(0x8000))), 1 + 1 + 8 + 8 * 4u);
  EXPECT_EQ(compressed_bytes(line_of(eight_near(0x8000'0000))), 0u);
}

TEST(Bdi, HasElementsOfFourAndTwoBytes) {
  std::vector<std::uint32_t> fours(16, 0x4000'0000);
  fours[3] += 100;
  fours[8] -= 100;
  EXPECT_EQ(compressed_bytes(line_of(fours)), 1 + 2 + 4 + 16 * 1u);
  fours[3] = 0x4000'1000;
  EXPECT_EQ(compressed_bytes(line_of(fours)), 1 + 2 + 4 + 16 * 2u);
  std::vector<std::uint16_t> twos;
  for (std::uint16_t i = 0; i < 32; ++i) twos.push_back(i % 2 == 0 ? 0x5000 + i : i);
  EXPECT_EQ(compressed_bytes(line_of(twos)), 1 + 4 + 2 + 32 * 1u);
}

// The paper's reason for a second base, zero: small numbers among pointers.
TEST(Bdi, SmallNumbersAreDifferencesToZero) {
  EXPECT_EQ(compressed_bytes(line_of<std::uint64_t>(
                {0, kBase, 1, kBase + 8, kBase + 16, ~std::uint64_t{0}, 100, kBase})),
            1 + 1 + 8 + 8 * 1u);
  EXPECT_EQ(compressed_bytes(line_of<std::uint64_t>({kBase, 2 * kBase, 1, 2, 3, 4, 5, 6})), 0u)
      << "two bases besides zero";
}

TEST(Bdi, WrapsAround) {
  const std::uint64_t top = std::uint64_t{1} << 63;
  EXPECT_EQ(compressed_bytes(line_of<std::uint64_t>({top, top - 1, top, top, top, top, top, top})),
            1 + 1 + 8 + 8 * 1u);
  std::vector<std::uint32_t> fours(16, 0x4000'0000);
  fours[3] = fours[7] = ~std::uint32_t{0};  // -1, a difference to zero
  fours[4] += 5;
  EXPECT_EQ(compressed_bytes(line_of(fours)), 1 + 2 + 4 + 16 * 1u);
}

TEST(Bdi, IncompressibleLineStaysUnchanged) {
  std::mt19937_64 random(1);
  LineData data;
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  EXPECT_EQ(compressed_bytes(data), 0u);
}

TEST(Bdi, DecompressionRestoresTheLine) {
  std::mt19937_64 random(2);
  std::vector<int> lengths(kLineBytes);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = std::size_t{2} << random() % 3;
    const std::uint64_t base = random();
    const std::uint64_t near = (std::uint64_t{1} << random() % 34) - 1;
    LineData data{};
    for (std::size_t at = 0; at < kLineBytes; at += size) {
      const std::uint64_t element = (random() % 3 == 0 ? 0 : base) + (random() & near) - near / 2;
      std::memcpy(data.data() + at, &element, size);
    }
    ++lengths[compressed_bytes(data)];
  }
  for (const std::size_t length : {0, 18, 23, 26, 39, 42}) EXPECT_GT(lengths[length], 0) << length;
}

TEST(Bdi, UncompressedLineIsReturnedUnchanged) {
  LineData data{};
  data.fill(std::byte{0xee});
  EXPECT_EQ(decompress(data), data);
}

}  // namespace
}  // namespace pmemsim
