// The bytes of an address space.
#include "pmemsim/mem/image.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace pmemsim {
namespace {

TEST(Image, ZerosBringNoPageToLife) {
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

TEST(Image, SharesPagesUntilOneIsWrittenTo) {
  constexpr std::uint64_t kAddress = 5 * Image::kPageBytes;
  const auto contents = std::make_shared<Image::Page>();
  contents->fill(std::byte{1});
  Image one;
  Image other;
  LineData twos;
  twos.fill(std::byte{2});
  one.write(Line::of(kAddress), twos);  // what is there before is replaced
  one.share(kAddress, contents);
  other.share(kAddress, contents);
  EXPECT_EQ(one.read(Line::of(kAddress))[0], std::byte{1});

  one.write(Line::of(kAddress), twos);
  EXPECT_EQ(one.read(Line::of(kAddress)), twos);
  EXPECT_EQ(one.read(Line::of(kAddress + kLineBytes))[0], std::byte{1});
  EXPECT_EQ(other.read(Line::of(kAddress))[0], std::byte{1});
  EXPECT_EQ(contents->front(), std::byte{1});

  const std::byte three{3};
  other.write(kAddress + 7, &three, 1);
  EXPECT_EQ(other.read(Line::of(kAddress))[7], three);
  EXPECT_EQ(one.read(Line::of(kAddress)), twos);
  EXPECT_EQ(contents->at(7), std::byte{1});
}

}  // namespace
}  // namespace pmemsim
