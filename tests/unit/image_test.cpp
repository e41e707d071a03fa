// The bytes of an address space.
#include "pmemsim/mem/image.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pmemsim
