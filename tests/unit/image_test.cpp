// Images: the bytes of an address space, in pages that copies share.
#include "pmemsim/common/image.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

namespace pmemsim {
namespace {

TEST(LineData, LinesThatDifferInOneByteAreUnequal) {
  LineData line{};
  for (std::size_t i = 0; i < line.size(); ++i) line[i] = std::byte(i);
  LineData other = line;
  EXPECT_TRUE(line == other);
  EXPECT_FALSE(line != other);
  for (std::byte& byte : other) {
    byte ^= std::byte{0x80};
    EXPECT_FALSE(line == other);
    EXPECT_TRUE(line != other);
    byte ^= std::byte{0x80};
  }
}

TEST(Image, StoredZerosAllocateNoPage) {
  Image image;
  const std::vector<std::byte> zeros(3 * Image::kPageBytes);
  image.write(0x5800, zeros.data(), zeros.size());
  EXPECT_EQ(image.pages(), 0u);

  std::vector<std::byte> bytes = zeros;
  bytes[Image::kPageBytes] = std::byte{7};
  image.write(0x5800, bytes.data(), bytes.size());  // from the middle of a page
  EXPECT_EQ(image.pages(), 1u);
  EXPECT_EQ(image.read(Line::of(0x6800))[0], std::byte{7});

  image.write(0x5800, zeros.data(), zeros.size());  // but they do take the place of other bytes
  EXPECT_EQ(image.read(Line::of(0x6800)), LineData{});
}

TEST(Image, SharedPageIsCopiedOnAWrite) {
  constexpr std::uint64_t kAddress = 5 * Image::kPageBytes, kApart = 16 * Image::kPageBytes;
  const auto pages = std::make_shared<Image::Pages>();
  Image::Page& contents = *((*pages)[5] = std::make_unique<Image::Page>());
  contents.fill(std::byte{1});
  Image one(pages, 2, kApart);
  Image other(pages, 2, kApart);
  LineData ones, twos;
  ones.fill(std::byte{1});
  twos.fill(std::byte{2});
  for (const std::uint64_t address : {kAddress, kAddress + kApart}) {
    EXPECT_EQ(one.read(Line::of(address)), ones);
  }
  EXPECT_EQ(one.read(Line::of(kAddress + 2 * kApart)), LineData{});  // there is no third copy

  one.write(Line::of(kAddress), twos);
  EXPECT_EQ(one.read(Line::of(kAddress)), twos);
  EXPECT_EQ(one.read(Line::of(kAddress + kLineBytes)), ones);
  EXPECT_EQ(one.read(Line::of(kAddress + kApart)), ones);
  EXPECT_EQ(other.read(Line::of(kAddress)), ones);
  EXPECT_EQ(contents.front(), std::byte{1});

  const std::byte three{3};
  other.write(kAddress + kApart + 7, &three, 1);
  EXPECT_EQ(other.read(Line::of(kAddress + kApart))[7], three);
  EXPECT_EQ(other.read(Line::of(kAddress)), ones);
  EXPECT_EQ(one.read(Line::of(kAddress + kApart)), ones);
  EXPECT_EQ(contents.at(7), std::byte{1});
}

TEST(Image, SharedAndOwnPagesAreEachVisitedOnce) {
  constexpr std::uint64_t kApart = 16 * Image::kPageBytes;
  const auto pages = std::make_shared<Image::Pages>();
  for (const std::uint64_t number : {2, 3}) {
    ((*pages)[number] = std::make_unique<Image::Page>())->fill(std::byte{1});
  }
  Image image(pages, 2, kApart);
  LineData twos;
  twos.fill(std::byte{2});
  image.write(Line::of(3 * Image::kPageBytes), twos);   // takes the place of a shared one
  image.write(Line::of(40 * Image::kPageBytes), twos);  // is new
  std::map<std::uint64_t, std::byte> first;
  image.for_each_page([&](std::uint64_t address, const std::byte* page) {
    EXPECT_TRUE(first.emplace(address / Image::kPageBytes, *page).second);
  });
  const std::map<std::uint64_t, std::byte> expected = {{2, std::byte{1}},
                                                       {3, std::byte{2}},
                                                       {18, std::byte{1}},
                                                       {19, std::byte{1}},
                                                       {40, std::byte{2}}};
  EXPECT_EQ(first, expected);
  EXPECT_EQ(image.pages(), 5u);
}

}  // namespace
}  // namespace pmemsim
