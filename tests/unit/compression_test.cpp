// Compressed lines in PM: the time that they take, and that a line is always known for what it is.
#include "pmemsim/designs/backend/compression.hpp"
#include "pmemsim/designs/backend/backend.hpp"

#include <gtest/gtest.h>

#include "operations_bench.hpp"
#include "pmemsim/designs/backend/deduplication.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/integrity.hpp"

namespace pmemsim {
namespace {

constexpr Line kHome{0}, kOther{8};
constexpr Picoseconds kC1 = ns(30), kAes = ns(40), kMd5 = ns(321), kHash = ns(40);
constexpr Picoseconds kRead = ns(10 + 20 + 5), kDecompression{250};
// of some_data()
constexpr std::uint64_t kCompressible = 2, kIncompressible = 3;

auto compression(const CompressionFaults& faults = {}) {
  CompressionParameters parameters;
  parameters.faults = faults;
  return std::make_unique<Compression>(parameters);
}
auto deduplication() { return std::make_unique<Deduplication>(DeduplicationParameters{}, 1); }
auto encryption() { return std::make_unique<Encryption>(EncryptionParameters{}); }
auto integrity() {
  IntegrityParameters parameters;
  parameters.levels = 1;
  return std::make_unique<Integrity>(parameters, 1);
}

// Returns the time of a second write, which finds all metadata cached.
Picoseconds second_write(OperationsBench& bench) {
  bench.write(kHome, some_data(kIncompressible));
  bench.look_up(some_data(kCompressible));
  return bench.write(kHome, some_data(kCompressible));
}

TEST(Compression, WriteAndReadTakeTheConfiguredTime) {
  OperationsBench bench(compression());
  EXPECT_EQ(bench.write(kHome, some_data(kCompressible)), kC1);
  EXPECT_EQ(bench.write(kHome, some_data(kIncompressible)), kC1);
  EXPECT_EQ(bench.read(kOther), kRead + kDecompression);
}

TEST(Compression, RunsBeforeFingerprintXorAndMac) {
  OperationsBench encrypted(compression(), encryption());
  EXPECT_EQ(second_write(encrypted), kAes) << "C1 beside E1, E2";
  OperationsBench authenticated(compression(), integrity());
  EXPECT_EQ(second_write(authenticated), kC1 + kHash) << "C1, E4; I1 beside them";
  OperationsBench deduplicated(compression(), deduplication());
  EXPECT_EQ(second_write(deduplicated), kC1 + kMd5 + kHash) << "C1, D1, D2, D3, D4";
}

TEST(Compression, CompressibleLineIsStoredCompressed) {
  OperationsBench bench(compression());
  bench.write(kHome, some_data(kCompressible));
  bench.write(kOther, some_data(kIncompressible));
  EXPECT_EQ(bench.memory.newest(kHome)[0], std::byte{1}) << "elements of 8 bytes, differences of 1";
  EXPECT_EQ(bench.memory.newest(kHome)[18], std::byte{0}) << "its length";
  EXPECT_EQ(bench.memory.newest(kOther), some_data(kIncompressible));
  EXPECT_EQ(bench.backend->newest(kHome), some_data(kCompressible));
}

TEST(Compression, StatisticsCountCompressedBytes) {
  OperationsBench bench(compression());
  bench.write(kHome, some_data(0));
  bench.write(kHome, some_data(1));
  bench.write(kHome, some_data(2));
  bench.write(kHome, some_data(3));
  EXPECT_EQ(bench.statistic("compression.compressed"), 3);
  EXPECT_EQ(bench.statistic("compression.incompressible"), 1);
  EXPECT_EQ(bench.statistic("compression.bytes"), 4 * 64);
  EXPECT_EQ(bench.statistic("compression.compressed_bytes"), 1 + 9 + 18 + 64);
}

TEST(Compression, LinesAreDecompressedAtEveryCrash) {
  for (const bool drops : {false, true}) {
    OperationsBench bench(compression());
    bench.write_at_random(1, 2000, drops ? 3 : 16, drops);
    EXPECT_EQ(bench.problem, "");
    EXPECT_GT(bench.crashes, 500u);
  }
}

TEST(Compression, LinesAreDecompressedBehindOtherOperations) {
  OperationsBench bench(compression(), deduplication(), encryption(), integrity());
  bench.write_at_random(1, 1000, 16, false);
  EXPECT_EQ(bench.problem, "");
  const double duplicates = bench.statistic("deduplication.duplicates");
  const double coalesced = bench.statistic("backend.coalesced");
  EXPECT_GT(duplicates, 0);
  EXPECT_GT(coalesced, 0);
  EXPECT_EQ(bench.statistic("compression.compressed") +
                bench.statistic("compression.incompressible") + duplicates + coalesced,
            1000);
}

// Drawn duplicates hold the line as it came from compression.
TEST(Compression, DrawnDuplicatesAreDecompressed) {
  DeduplicationParameters drawn;
  drawn.duplicates = Duplicates::kDrawn;
  BackendParts::Operations operations;
  operations.push_back(compression());
  operations.push_back(std::make_unique<Deduplication>(drawn, 1));
  BackendParts parts(std::move(operations));
  parts.add_shared({}, {}, 1);
  MemoryBench bench(OperationsBench::roomy());
  Backend backend(bench.queue, bench.memory, std::move(parts), ns(0));
  for (std::uint64_t number = 0; number < 16; ++number) {
    backend.write({.line = {number}, .data = data_of(number), .persisted = {}, .written = {}});
  }
  bench.run();
  for (std::uint64_t number = 0; number < 16; ++number) {
    EXPECT_EQ(backend.surviving({number}), data_of(number)) << number;
  }
}

TEST(Compression, InjectedFaultsAreDetected) {
  OperationsBench flag(compression({.flag = true}));
  flag.write_at_random(1, 2000, 4, false);
  EXPECT_NE(flag.problem, "");
  OperationsBench dropped(compression({.dropped = true}));
  dropped.write_at_random(1, 500, 4, true);
  EXPECT_NE(dropped.problem, "");
}

}  // namespace
}  // namespace pmemsim
