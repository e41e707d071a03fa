// The library's AES-128, SHA-1, MD5 and HMAC, as lines use them.
#include "pmemsim/designs/backend/line_crypto.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <span>
#include <string_view>

#include "memory_bench.hpp"

namespace pmemsim {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// The first 8 bytes of a digest as they are printed.
std::uint64_t begins_with(std::uint64_t printed) { return __builtin_bswap64(printed); }

TEST(LineHash, HashesMatchTheTestVectorsOfTheStandards) {
  EXPECT_EQ(LineHash("SHA1").of(bytes("a"), bytes("bc")), begins_with(0xa9993e364706816a))
      << "FIPS 180-1, A";
  EXPECT_EQ(LineHash("MD5").of(bytes("abc"), {}), begins_with(0x900150983cd24fb0))
      << "RFC 1321, A.5";
  Key key;
  key.fill(std::byte{0x0b});
  const LineHash keyed(key);
  EXPECT_EQ(keyed.of(bytes("Hi There"), {}), keyed.of(bytes("Hi"), bytes(" There")));
  EXPECT_NE(keyed.of(bytes("Hi There"), {}), LineHash("SHA1").of(bytes("Hi There"), {}));
}

TEST(LineCipher, OnlyTheSameLineAndCounterDecrypt) {
  const LineCipher cipher(Key{});
  const LineData plain = data_of(42);
  const LineData sealed = cipher.apply({7}, 3, plain);
  EXPECT_NE(sealed, plain);
  EXPECT_EQ(cipher.apply({7}, 3, sealed), plain);
  EXPECT_NE(cipher.apply({7}, 4, sealed), plain);
  EXPECT_NE(cipher.apply({8}, 3, sealed), plain);
  Key other{};
  other[0] = std::byte{1};
  EXPECT_NE(LineCipher(other).apply({7}, 3, sealed), plain);
}

// AES-128 of an all-zero block with an all-zero key (FIPS 197 implementations' known answer).
TEST(LineCipher, PadMatchesTheTestVectorOfAes) {
  const LineData pad = LineCipher(Key{}).apply({0}, 0, {});
  std::uint64_t first = 0;
  std::memcpy(&first, pad.data(), sizeof first);
  EXPECT_EQ(first, begins_with(0x66e94bd4ef8a2c3b));
}

TEST(LineCipher, PadBlocksAreDistinct) {
  const LineCipher cipher(Key{});
  std::set<std::array<std::byte, 16>> blocks;
  for (std::uint64_t place = 0; place < 20; ++place) {
    for (std::uint64_t counter = 0; counter < 20; ++counter) {
      const LineData pad = cipher.apply({place}, counter, {});
      for (std::size_t at = 0; at < kLineBytes; at += 16) {
        std::array<std::byte, 16> block;
        std::memcpy(block.data(), pad.data() + at, block.size());
        EXPECT_TRUE(blocks.insert(block).second);
      }
    }
  }
}

}  // namespace
}  // namespace pmemsim
