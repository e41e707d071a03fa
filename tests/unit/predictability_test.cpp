// The share of write-backs whose address and data are in earlier stores, for store sequences by
// hand.
#include "pmemsim/analysis/predictability.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "pmemsim/common/error.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::SiteKind;

constexpr std::uint64_t kDram = 0x5000;
constexpr std::uint64_t kFirst = kPmBase + 4096, kSecond = kFirst + 64;
constexpr std::uint64_t kValue = 0x1122334455667788;

struct StoreTrace : trace::TraceBuilder {
  StoreTrace() { pm_region(kPmBase, kPmBase + (1 << 20)); }

  std::uint32_t store_site(std::uint32_t line, std::uint8_t size = 8,
                           SiteKind kind = SiteKind::kStore) {
    return site(kind, size, 1, {}, {}, 0, 0, {"mine.c", "function", line});
  }
  void flush(std::uint64_t address) { access(flush_site, address); }
  PredictabilityReport analyse() {
    const TemporaryTrace file(*this);
    return predictability(trace::TraceFile(file.path()), [](double) { return true; });
  }

  const std::uint32_t word = store_site(10), other_word = store_site(20);
  const std::uint32_t chunk = store_site(30, 4), byte = store_site(40, 1);
  const std::uint32_t flush_site = site(SiteKind::kFlush, 0);
};

Predictable once(Predictable::Found all, Predictable::Found without_own) {
  return {1, all, without_own};
}

TEST(Predictability, FindsAnAddressThatWasStoredAsAValue) {
  StoreTrace trace;
  trace.store(trace.word, kDram, kFirst + 8);  // anywhere within the line
  trace.store(trace.word, kFirst, kValue);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total, once({1, 1, 1, 1, 1}, {1, 0, 0, 0, 0}));
}

TEST(Predictability, AddressOfTheNextLineDoesNotCountAsTheLines) {
  StoreTrace trace;
  trace.store(trace.word, kDram, kSecond);
  trace.store(trace.word, kFirst, kValue);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total, once({0, 1, 1, 0, 0}, {}));
}

TEST(Predictability, FindsDataThatWereStoredElsewhere) {
  StoreTrace trace;
  trace.store(trace.word, kDram, kValue);
  trace.store(trace.word, kFirst + 16, kValue);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total, once({0, 1, 1, 0, 0}, {0, 1, 1, 0, 0}));
}

TEST(Predictability, FindsDataThatAreStoredElsewhereLater) {
  StoreTrace trace;
  trace.store(trace.word, kFirst, kValue);
  trace.store(trace.word, kSecond, kValue);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total, once({0, 1, 1, 0, 0}, {0, 1, 1, 0, 0}));
}

TEST(Predictability, FindsNothingThatIsStoredAfterTheWriteBack) {
  StoreTrace trace;
  trace.store(trace.word, kFirst, kValue);
  trace.flush(kFirst);
  trace.store(trace.word, kDram, kValue);
  trace.store(trace.word, kDram, kFirst);
  EXPECT_EQ(trace.analyse().total, once({0, 1, 1, 0, 0}, {}));
}

TEST(Predictability, EveryStoredChunkMustBeFound) {
  StoreTrace trace;
  trace.store(trace.word, kDram, kValue);
  trace.store(trace.word, kFirst, kValue);
  trace.store(trace.word, kFirst + 8, kValue + 1);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total.without_own, (Predictable::Found{}));
}

TEST(Predictability, ChunksAreFoundWhereWordsAreNot) {
  StoreTrace trace;
  trace.store(trace.chunk, kDram, kValue & 0xffffffff);
  trace.store(trace.chunk, kDram + 64, kValue >> 32);
  trace.store(trace.word, kFirst, kValue);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total.without_own, (Predictable::Found{0, 1, 0, 0, 0}));
}

TEST(Predictability, HalfAWordIsAChunk) {
  StoreTrace trace;
  trace.store(trace.word, kDram, kValue);
  trace.store(trace.chunk, kFirst, kValue >> 32);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total.without_own, (Predictable::Found{0, 1, 0, 0, 0}));
}

TEST(Predictability, StoresOfSingleBytesAreNotRemembered) {
  StoreTrace trace;
  trace.store(trace.byte, kDram, 7);
  trace.store(trace.byte, kFirst, 7);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total, once({}, {}));
}

// Its other bytes are those that PM holds.
TEST(Predictability, PartlyStoredChunkCountsAsWhole) {
  StoreTrace trace;
  trace.store(trace.chunk, kDram, 0x11223307);
  trace.store(trace.chunk, kFirst, 0x11223344);
  trace.flush(kFirst);
  trace.store(trace.byte, kFirst, 7);
  trace.flush(kFirst);
  const Predictable total = trace.analyse().total;
  EXPECT_EQ(total.write_backs, 2);
  EXPECT_EQ(total.without_own, (Predictable::Found{0, 1, 0, 0, 0}));
}

TEST(Predictability, OwnStoresAreThoseSinceTheLastWriteBack) {
  StoreTrace trace;
  trace.store(trace.word, kFirst, kValue);
  trace.flush(kFirst);
  trace.store(trace.word, kFirst, kValue);
  trace.flush(kFirst);
  const Predictable total = trace.analyse().total;
  EXPECT_EQ(total.write_backs, 2);
  EXPECT_EQ(total.all, (Predictable::Found{0, 2, 2, 0, 0}));
  EXPECT_EQ(total.without_own, (Predictable::Found{0, 1, 1, 0, 0}));
}

TEST(Predictability, FlushesOfWhatWasNotStoredAreNoWriteBacks) {
  StoreTrace trace;
  const std::uint32_t non_temporal = trace.store_site(50, 8, SiteKind::kNonTemporal);
  trace.flush(kSecond);
  trace.store(non_temporal, kSecond, kValue);
  trace.flush(kSecond);
  trace.store(trace.word, kFirst, kValue);  // found in the other store
  trace.flush(kFirst);
  trace.flush(kFirst);
  trace.flush(kDram);
  const PredictabilityReport report = trace.analyse();
  EXPECT_EQ(report.total, once({0, 1, 1, 0, 0}, {0, 1, 1, 0, 0}));
  EXPECT_EQ(report.other_flushes, 3);
  EXPECT_EQ(report.stores, 2);
}

TEST(Predictability, ThreadsHaveSeparateHistories) {
  StoreTrace trace;
  trace.store(trace.word, kDram, kValue);
  trace.thread(1);
  trace.store(trace.word, kFirst, kValue);
  trace.flush(kFirst);
  EXPECT_EQ(trace.analyse().total.without_own, (Predictable::Found{}));
}

TEST(Predictability, StoreAcrossTwoLinesCountsForBoth) {
  StoreTrace trace;
  const std::uint32_t segment = trace.site(SiteKind::kCopyStore);
  trace.copy(segment, kSecond - 8, 16, kValue);
  trace.flush(kFirst);
  trace.flush(kSecond);
  EXPECT_EQ(trace.analyse().total.write_backs, 2);
}

TEST(Predictability, WriteBacksAreGroupedByTheSourceLineOfTheLastStore) {
  StoreTrace trace;
  for (const std::uint64_t line : {kFirst, kSecond}) {
    trace.store(trace.other_word, line, kValue + line);
    trace.store(trace.word, line + 8, kValue);
    trace.flush(line);
  }
  trace.store(trace.other_word, kFirst, kValue);
  trace.flush(kFirst);
  const PredictabilityReport report = trace.analyse();
  ASSERT_EQ(report.by_line.size(), 2);
  EXPECT_EQ(report.by_line[0].store, (trace::SourceLocation{"mine.c", "function", 10}));
  EXPECT_EQ(report.by_line[0].found.write_backs, 2);
  EXPECT_EQ(report.by_line[0].found.without_own, (Predictable::Found{}));
  EXPECT_EQ(report.by_line[1].store.line, 20);
  EXPECT_EQ(report.by_line[1].found.without_own, (Predictable::Found{0, 1, 1, 0, 0}));
}

// The distance is in instructions, the flush's own included; the last bound is open.
TEST(Predictability, CountsInstructionsFromTheLastStore) {
  StoreTrace trace;
  for (const std::uint32_t between : {0u, 9u, 10u, 2'000'000u}) {
    trace.store(trace.word, kFirst, kValue);
    if (between > 0) trace.external(between);
    trace.flush(kFirst);
  }
  const PredictabilityReport report = trace.analyse();
  const auto within = [&](std::uint64_t bound) {
    const auto found = std::ranges::find(kDistanceBounds, bound);
    return report.distances[static_cast<std::size_t>(found - kDistanceBounds.begin())];
  };
  EXPECT_EQ(within(1), 1);
  EXPECT_EQ(within(10), 1);
  EXPECT_EQ(within(20), 1);
  EXPECT_EQ(report.distances.back(), 1);
  EXPECT_EQ(report.instructions, 8 + 19 + 2'000'000);
}

// A set consists of the oldest stores; the same instructions in another order are the same set.
TEST(Predictability, CountsSetsOfStoreInstructions) {
  StoreTrace trace;
  const std::uint32_t addresses = trace.store_site(60), data = trace.store_site(70);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t line = kFirst + 64 * i;
    if (i == 1) trace.store(data, kDram, kValue + i);
    trace.store(addresses, kDram, line);
    if (i != 1) trace.store(data, kDram, kValue + i);
    trace.store(trace.word, line, kValue + i);
    trace.flush(line);
  }
  trace.store(trace.word, kFirst, kFirst);  // one store's set: that of the first address
  trace.flush(kFirst);
  trace.store(trace.word, kFirst + 4096, kValue);  // no store of the address is found
  trace.flush(kFirst + 4096);
  const PredictabilityReport report = trace.analyse();
  EXPECT_EQ(report.store_sets, 2);
  ASSERT_EQ(report.listed_sets.size(), 2);
  EXPECT_EQ(report.listed_sets[0].write_backs, 3);
  ASSERT_EQ(report.listed_sets[0].stores.size(), 2);
  EXPECT_EQ(report.listed_sets[0].stores[0].line, 60);
  EXPECT_EQ(report.listed_sets[0].stores[1].line, 70);
  EXPECT_EQ(report.listed_sets[1].write_backs, 1);
  ASSERT_EQ(report.listed_sets[1].stores.size(), 1);
  EXPECT_EQ(report.listed_sets[1].stores[0].line, 60);
}

TEST(Predictability, AnalysisEndsWhenItIsCancelled) {
  StoreTrace trace;
  for (int i = 0; i < 1 << 21; ++i) trace.store(trace.word, kDram, kValue);
  const TemporaryTrace file(trace);
  const trace::TraceFile recording(file.path());
  EXPECT_THROW(predictability(recording, [](double share) { return share < 0.5; }), Interrupted);
}

}  // namespace
}  // namespace pmemsim
