// Check bits of lines: the time that they take, and images whose bits have flipped.
#include "pmemsim/designs/backend/error_correction.hpp"

#include <gtest/gtest.h>

#include <set>

#include "operations_bench.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/secded.hpp"

namespace pmemsim {
namespace {

constexpr Line kLine{0};
constexpr Picoseconds kX1 = ns(3), kAes = ns(40), kRead = ns(10 + 20 + 5);

auto correction(std::uint32_t flipped_bits = 0, const ErrorCorrectionFaults& faults = {}) {
  ErrorCorrectionParameters parameters;
  parameters.flipped_bits = flipped_bits;
  parameters.faults = faults;
  return std::make_unique<ErrorCorrection>(parameters);
}

TEST(ErrorCorrection, WriteTakesTheTimeOfCoding) {
  OperationsBench bench(correction());
  EXPECT_EQ(bench.write(kLine, some_data(1)), kX1);
  EXPECT_EQ(bench.statistic("error_correction.coded"), 1);
}

TEST(ErrorCorrection, WriteCodesTheCiphertext) {
  OperationsBench bench(std::make_unique<Encryption>(EncryptionParameters{}), correction());
  bench.write(kLine, some_data(1));  // now the entry is cached
  EXPECT_EQ(bench.write(kLine, some_data(2)), kAes + kX1);
}

TEST(ErrorCorrection, ReadIsCheckedAfterTheLineArrives) {
  OperationsBench bench(correction());
  EXPECT_EQ(bench.read(kLine), kRead + kX1);
  EXPECT_EQ(bench.statistic("error_correction.checked"), 1);
}

TEST(ErrorCorrection, FlippedBitsAreTwoOfDataAndCheckBits) {
  std::set<std::uint32_t> first, second;
  for (std::uint64_t place = 0; place < 500; ++place) {
    const FlippedBits bits = flipped_bits(1, {place}, place % kWordsALine);
    EXPECT_NE(bits.first, bits.second);
    first.insert(bits.first);
    second.insert(bits.second);
  }
  EXPECT_EQ(first.size(), kDataBits + kCheckBits);
  EXPECT_EQ(second.size(), kDataBits + kCheckBits);
  EXPECT_EQ(*first.rbegin(), kDataBits + kCheckBits - 1);
}

TEST(ErrorCorrection, OneFlippedBitOfEachWordIsCorrectedAtEveryCrash) {
  for (const bool drops : {false, true}) {
    OperationsBench bench(correction(1));
    bench.write_at_random(1, 500, 16, drops);
    EXPECT_EQ(bench.problem, "");
    EXPECT_GT(bench.crashes, 100u);
  }
}

TEST(ErrorCorrection, TwoFlippedBitsOfAWordAreReported) {
  OperationsBench bench(correction(2));
  bench.write(kLine, some_data(1));
  EXPECT_EQ(bench.problem, "1 lines have errors that can't be corrected");
}

TEST(ErrorCorrection, InjectedFaultsAreDetected) {
  OperationsBench correct(correction(1, {.correct = true}));
  correct.write_at_random(1, 10, 4, false);
  EXPECT_NE(correct.problem, "");
  OperationsBench detect(correction(2, {.detect = true}));
  detect.write_at_random(1, 10, 4, false);
  EXPECT_EQ(detect.problem, "a crash loses a line") << "no check detects the wrong bits";
}

}  // namespace
}  // namespace pmemsim
