// Spare bits of a line's writes, with drops of writes in any order.
#include "pmemsim/designs/backend/spare_bits.hpp"

#include <gtest/gtest.h>

namespace pmemsim {
namespace {

constexpr Line kLine{0}, kOtherLine{1};

struct ThreeWrites {
  ThreeWrites() {
    for (const int write : {1, 2, 3})
      bits.accepted(kLine, static_cast<std::uint64_t>(write), write);
  }
  int drop(std::uint64_t write) {
    bits.dropped(kLine, write);
    return bits.of(kLine);
  }
  SpareBits<int> bits;
};

TEST(SpareBits, NewestWriteDeterminesTheBits) {
  ThreeWrites bench;
  EXPECT_EQ(bench.bits.of(kLine), 3);
  EXPECT_EQ(bench.bits.of(kOtherLine), 0);
}

TEST(SpareBits, DropRestoresTheBitsBeforeItsWrite) {
  ThreeWrites bench;
  EXPECT_EQ(bench.drop(3), 2);
  EXPECT_EQ(bench.drop(2), 1);
  EXPECT_EQ(bench.drop(1), 0);
}

TEST(SpareBits, DropSkipsWritesDroppedBefore) {
  ThreeWrites bench;
  EXPECT_EQ(bench.drop(1), 3);
  EXPECT_EQ(bench.drop(2), 3);
  EXPECT_EQ(bench.drop(3), 0);
}

TEST(SpareBits, BitsOfTheWrittenLineStayAfterADrop) {
  ThreeWrites bench;
  bench.bits.written(1);
  EXPECT_EQ(bench.drop(3), 2);
  EXPECT_EQ(bench.drop(2), 1);
  EXPECT_EQ(bench.drop(1), 1) << "it isn't in its queue any more";
}

}  // namespace
}  // namespace pmemsim
