// PMWeaver's structures, one by one and together in a core, on stores written by hand.
#include "pmemsim/designs/precompute/write_learner.hpp"
#include "pmemsim/designs/backend/prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "pmemsim/designs/precompute/line_accumulator.hpp"
#include "pmemsim/designs/precompute/predicted_lines.hpp"
#include "pmemsim/designs/precompute/timeout_predictor.hpp"

namespace pmemsim {
namespace {

constexpr Line kWritten{(std::uint64_t{5} << 32) / kLineBytes + 1000};
constexpr std::uint64_t kWrittenAddress = kWritten.address();

std::vector<std::byte> bytes_of(std::uint64_t value, std::size_t size = 8) {
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &value, size);
  return bytes;
}

// ---- The path

TEST(StorePathHash, HashShiftsEachLaterSiteByOneMoreBit) {
  StorePath path(3);
  EXPECT_EQ(path.hash(), 0u);
  path.push(5);
  EXPECT_EQ(path.hash(), 5u << 2) << "nothing yet, nothing yet, 5";
  path.push(6);
  path.push(7);
  EXPECT_EQ(path.hash(), 5u ^ 6u << 1 ^ 7u << 2);
  path.push(8);
  EXPECT_EQ(path.hash(), 6u ^ 7u << 1 ^ 8u << 2);
}

TEST(StorePathHash, HashCoversTheLastSites) {
  constexpr std::size_t kLength = 64;
  StorePath path(kLength);
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> sites;
  for (int i = 0; i < 1000; ++i) {
    sites.push_back(random());
    path.push(sites.back());
  }
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    hash ^= (sites[sites.size() - kLength + i] & 0xffff'ffff'ffff) << i;
  }
  EXPECT_EQ(path.hash(), hash);
}

// ---- The history

TEST(StoreHistory, OldestStoreOfAChunkOrAddressIsFound) {
  StoreHistory history = StoreHistory::by_value(64, 4);
  history.add(bytes_of(0x0000'0007'0000'0009), 1, 11);
  history.add(bytes_of(7, 4), 2, 12);
  history.add(bytes_of(kWrittenAddress + 63), 3, 13);
  history.add(bytes_of(kWrittenAddress), 4, 14);
  const StoreHistory::Entry* const seven = history.find_chunk(7);
  ASSERT_NE(seven, nullptr);
  EXPECT_EQ(seven->site, 1u);
  EXPECT_EQ(seven->offset, 4u);
  EXPECT_EQ(seven->path, 11u);
  EXPECT_EQ(history.find_chunk(9)->offset, 0u);
  EXPECT_EQ(history.find_address(kWritten)->site, 3u);
  EXPECT_EQ(history.find_address({kWritten.number + 1}), nullptr);
  EXPECT_EQ(history.find_chunk(8), nullptr);
}

TEST(StoreHistory, SmallStoresAreNotRecorded) {
  StoreHistory history = StoreHistory::by_value(64, 4);
  history.add(bytes_of(7, 2), 1, 11);
  EXPECT_EQ(history.find_chunk(7), nullptr);
}

TEST(StoreHistory, NewEntryReplacesTheOldestOfItsSet) {
  StoreHistory history = StoreHistory::by_value(4, 4);
  for (std::uint64_t value = 1; value <= 4; ++value) history.add(bytes_of(value, 4), value, 0);
  EXPECT_NE(history.find_chunk(1), nullptr);
  history.add(bytes_of(5, 4), 5, 0);
  EXPECT_EQ(history.find_chunk(1), nullptr);
  EXPECT_NE(history.find_chunk(2), nullptr);
  history.add(bytes_of(2, 4), 6, 0);  // the third oldest there is now, and the newest
  EXPECT_EQ(history.find_chunk(2)->site, 6u) << "2's first entry was the oldest";
  EXPECT_EQ(history.use().most, 4u);
  EXPECT_EQ(history.use().displaced, 2u);
  EXPECT_EQ(history.use().hits, 3u) << "1, 2 and 2; of what isn't there, none";
}

// A store of 8 bytes has three tags, and takes one entry of the buffer.
TEST(StoreHistory, EntriesCountStoresAndNotTheirTags) {
  StoreHistory history = StoreHistory::by_value(4, 4);
  for (std::uint64_t store = 1; store <= 5; ++store) {
    EXPECT_EQ(history.use().most, std::min<std::uint64_t>(store - 1, 4));
    history.add(bytes_of(kWrittenAddress + store * 64), store, 0);
    if (store < 5) {
      EXPECT_NE(history.find_address({kWritten.number + 1}), nullptr);
    }
  }
  EXPECT_EQ(history.use().displaced, 1u);
  EXPECT_EQ(history.find_address({kWritten.number + 1}), nullptr);
  EXPECT_EQ(history.find_address({kWritten.number + 2})->site, 2u);
  EXPECT_EQ(history.find_chunk(kWrittenAddress >> 32)->site, 2u) << "the second chunk of all";
}

TEST(StoreHistory, QueueVariantKeepsTheLatestStoresOfAnyValue) {
  StoreHistory history = StoreHistory::queue(4);
  for (std::uint64_t site = 1; site <= 4; ++site) history.add(bytes_of(7), site, 0);
  EXPECT_EQ(history.find_chunk(7)->site, 1u);
  history.add(bytes_of(7, 2), 5, 0);  // counts, though nothing of it is found
  EXPECT_EQ(history.find_chunk(7)->site, 2u);
  history.forget(history.find_chunk(7)->when);
  EXPECT_EQ(history.find_chunk(7)->site, 3u);
  EXPECT_EQ(history.find_chunk(0)->site, 3u) << "the upper half; that of 2 is forgotten, too";
}

// ---- The table

WritePattern pattern_of(std::uint64_t site) {
  return {.address = {site, 0}, .chunks = {{{site + 1, 4}}}, .from_stores = 1};
}

TEST(PredictionTable, TrustedPatternIsKept) {
  PredictionTable table(4, 4);
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(table.learn(1, pattern_of(10), true), PredictionTable::Learnt::kNew);
  EXPECT_EQ(table.learn(1, pattern_of(10), true), PredictionTable::Learnt::kConfirmed);
  WritePattern other = pattern_of(20);
  other.zero = 6;
  for (std::uint32_t left = PredictionTable::kFirst; left >= PredictionTable::kPredicts; --left) {
    EXPECT_EQ(table.find(1)->data_confidence, left);
    EXPECT_EQ(table.learn(1, other, true), PredictionTable::Learnt::kKept);
    EXPECT_EQ(table.find(1)->pattern.address.site, 10u);
    EXPECT_EQ(table.find(1)->pattern.zero, 6) << "the zero chunks are learnt again";
  }
  EXPECT_FALSE(table.find(1)->predicts_data());
  EXPECT_TRUE(table.find(1)->predicts_address());
  EXPECT_EQ(table.learn(1, other, true), PredictionTable::Learnt::kReplaced);
  EXPECT_EQ(table.find(1)->pattern, other);
  EXPECT_EQ(table.find(1)->data_confidence, PredictionTable::kFirst);
}

TEST(PredictionTable, ConfidenceFollowsTheOutcomesOfPredictions) {
  PredictionTable table(4, 4);
  table.learn(1, pattern_of(10), true);
  const auto expect = [&](std::uint32_t address, std::uint32_t data) {
    EXPECT_EQ(table.find(1)->address_confidence, address);
    EXPECT_EQ(table.find(1)->data_confidence, data);
  };
  table.count_address_right(1);
  table.data_wrong(1);
  expect(7, 5);
  table.count_address_right(1);
  expect(7, 5);
  table.data_right(1);
  expect(7, 6);
  for (int i = 0; i < 6; ++i) table.count_unused(1);
  expect(1, 0);
  EXPECT_FALSE(table.find(1)->predicts_address());
  for (int i = 0; i < 3; ++i) table.count_unused(1);
  expect(0, 0);
  table.count_address_right(2);  // another path's has taken its place, or was never there
}

TEST(PredictionTable, LeastTrustedThenOldestEntryIsReplaced) {
  PredictionTable table(3, 3);
  for (std::uint64_t path = 1; path <= 3; ++path) table.learn(path, pattern_of(path), true);
  table.data_wrong(2);
  table.learn(4, pattern_of(4), true);
  EXPECT_EQ(table.find(2), nullptr);
  table.learn(5, pattern_of(5), true);
  EXPECT_EQ(table.find(1), nullptr) << "all are trusted the same";
  EXPECT_NE(table.find(3), nullptr);
  EXPECT_EQ(table.use().most, 3u);
  EXPECT_EQ(table.use().displaced, 2u);
}

TEST(PredictionTable, PatternWithoutDataPredictsOnlyTheAddress) {
  PredictionTable table(4, 4);
  table.learn(1, pattern_of(10), false);
  EXPECT_TRUE(table.find(1)->predicts_address());
  EXPECT_FALSE(table.find(1)->predicts_data());
}

TEST(PredictionTable, ArtifactVariantTrustsAllAndReplacesNeverCorrectEntries) {
  PredictionTable table = PredictionTable::as_artifact();
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(table.learn(1, pattern_of(10), true), PredictionTable::Learnt::kNew);
  table.learn(2, pattern_of(20), true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(table.learn(1, pattern_of(30), true), PredictionTable::Learnt::kKept);
    table.count_unused(1);
    table.data_wrong(1);
  }
  EXPECT_TRUE(table.find(1)->predicts_data());
  EXPECT_EQ(table.find(1)->pattern, pattern_of(10));
  table.data_right(2);
  for (std::uint64_t path = 3; path <= 9; ++path) table.learn(path, pattern_of(path), true);
  EXPECT_NE(table.find(1), nullptr) << "eight others";
  table.learn(10, pattern_of(10), true);
  EXPECT_EQ(table.find(1), nullptr);
  for (std::uint64_t path = 11; path <= 50; ++path) table.learn(path, pattern_of(path), true);
  EXPECT_NE(table.find(2), nullptr) << "it was right once";
}

TEST(PredictionTable, ArtifactVariantFindsConstants) {
  PredictionTable table = PredictionTable::as_artifact();
  table.learn(1, pattern_of(10), true);
  const auto times = [&] { return table.find(1)->constants[3].times; };
  table.record_wrong_chunk(1, 3, 55);
  EXPECT_EQ(times(), 0u);
  table.record_wrong_chunk(1, 3, 55);
  table.record_wrong_chunk(1, 3, 55);
  EXPECT_EQ(times(), 2u);
  table.record_wrong_chunk(1, 3, 56);
  EXPECT_EQ(times(), 1u);
  EXPECT_EQ(table.find(1)->constants[3].value, 56u);
  table.record_wrong_chunk(2, 3, 55);  // no entry has this number

  PredictionTable paper(4, 4);
  paper.learn(1, pattern_of(10), true);
  for (int i = 0; i < 3; ++i) paper.record_wrong_chunk(1, 3, 55);
  EXPECT_EQ(paper.find(1)->constants[3].times, 0u);
}

// ---- Pending predictions

PredictionTable::Entry entry_of(const WritePattern& pattern, bool with_data = true) {
  return {.path = 99,
          .learnt = 1,
          .address_confidence = PredictionTable::kFirst,
          .data_confidence = with_data ? PredictionTable::kFirst : 0,
          .pattern = pattern};
}

struct Collected {
  std::vector<PredictedWrite> writes;
  void operator()(const PredictedWrite& write) { writes.push_back(write); }
};

TEST(PendingPredictions, PredictionIsMadeWhenItsLastValueArrives) {
  PendingPredictions pending(8, 128);
  WritePattern pattern{.address = {1, 0}, .from_stores = 0b101, .zero = 0b1000};
  pattern.chunks[0] = {2, 4};
  pattern.chunks[2] = {3, 0};
  Collected made;
  pending.open(entry_of(pattern), std::ref(made));
  const auto store = [&](std::uint64_t site, std::uint64_t value) {
    pending.stored(site, bytes_of(value), std::ref(made));
  };
  store(1, kWrittenAddress + 40);
  store(2, 0x0000'0005'0000'0004);
  store(2, 0x0000'0006'0000'0004);  // not the first one any more
  store(1, 64);
  EXPECT_TRUE(made.writes.empty());
  store(3, 7);
  ASSERT_EQ(made.writes.size(), 1u);
  const PredictedWrite& write = made.writes[0];
  EXPECT_EQ(write.path, 99u);
  EXPECT_EQ(write.line, kWritten);
  EXPECT_EQ(write.known, 0b1101);
  EXPECT_EQ(write.chunks[0], 5u);
  EXPECT_EQ(write.chunks[2], 7u);
  EXPECT_EQ(write.chunks[3], 0u);
  EXPECT_TRUE(write.with_data);
  EXPECT_EQ(pending.size(), 0u);
  EXPECT_EQ(pending.predictions().hits, 1u);
  EXPECT_EQ(pending.index().hits, 3u) << "once for each instruction";
}

TEST(PendingPredictions, OneStoreMayFillAWholePrediction) {
  PendingPredictions pending(8, 128);
  WritePattern pattern{.address = {1, 0}, .from_stores = 0b11};
  pattern.chunks = {{{1, 0}, {1, 4}}};
  Collected made;
  pending.open(entry_of(pattern), std::ref(made));
  pending.stored(1, bytes_of(kWrittenAddress), std::ref(made));
  ASSERT_EQ(made.writes.size(), 1u);
  EXPECT_EQ(made.writes[0].chunks[0], kWrittenAddress & 0xffff'ffff);
  EXPECT_EQ(made.writes[0].chunks[1], kWrittenAddress >> 32);
}

TEST(PendingPredictions, PredictionWithUntrustedDataWaitsOnlyForTheAddress) {
  PendingPredictions pending(8, 128);
  Collected made;
  pending.open(entry_of(pattern_of(1), false), std::ref(made));
  pending.stored(1, bytes_of(kWrittenAddress), std::ref(made));
  ASSERT_EQ(made.writes.size(), 1u);
  EXPECT_FALSE(made.writes[0].with_data);
  EXPECT_EQ(made.writes[0].known, 0);
}

TEST(PendingPredictions, ValueFillsAllPredictionsThatWaitForIt) {
  PendingPredictions pending(8, 128);
  Collected made;
  pending.open(entry_of(pattern_of(1), false), std::ref(made));
  pending.open(entry_of(pattern_of(1), false), std::ref(made));
  pending.stored(1, bytes_of(kWrittenAddress), std::ref(made));
  EXPECT_EQ(made.writes.size(), 2u);
}

TEST(PendingPredictions, OldestPredictionIsReplaced) {
  PendingPredictions pending(2, 128);
  Collected made;
  for (std::uint64_t site = 1; site <= 3; ++site) {
    EXPECT_EQ(pending.predictions().displaced, 0u);
    pending.open(entry_of(pattern_of(site), false), std::ref(made));
  }
  EXPECT_EQ(pending.predictions().displaced, 1u);
  EXPECT_EQ(pending.predictions().most, 2u);
  for (std::uint64_t site = 1; site <= 3; ++site) {
    pending.stored(site, bytes_of(kWrittenAddress + site * 64), std::ref(made));
  }
  ASSERT_EQ(made.writes.size(), 2u);
  EXPECT_EQ(made.writes[0].line.number, kWritten.number + 2);
}

TEST(PendingPredictions, ReplacedInstructionNeverFillsItsPrediction) {
  PendingPredictions pending(8, 2);
  Collected made;
  pending.open(entry_of(pattern_of(1)), std::ref(made));  // sites 1 and 2
  EXPECT_EQ(pending.index().displaced, 0u);
  pending.open(entry_of(pattern_of(7), false), std::ref(made));
  EXPECT_EQ(pending.index().displaced, 1u);
  EXPECT_EQ(pending.index().most, 2u);
  pending.stored(1, bytes_of(kWrittenAddress), std::ref(made));
  pending.stored(2, bytes_of(5), std::ref(made));
  EXPECT_TRUE(made.writes.empty());
  pending.stored(7, bytes_of(kWrittenAddress), std::ref(made));
  EXPECT_EQ(made.writes.size(), 1u);
}

TEST(PendingPredictions, DeltasAreFilledFromTheLastWrite) {
  PendingPredictions pending(8, 128);
  Collected made;
  PredictionTable::Entry entry = entry_of({.address = {}, .from_stores = 1, .zero = 0b1000});
  entry.pattern.chunks[0] = {0, 0};  // site 0 isn't a source of the address, which has none
  entry.last = {.line = kWritten, .chunks = {1, 0xffff'ffff, 70}};
  entry.deltas = {.address = true, .chunks = 0b110, .line = 3, .values = {9, 2, 7}};
  pending.open(entry, std::ref(made));
  EXPECT_TRUE(made.writes.empty());
  pending.stored(0, bytes_of(5), std::ref(made));
  ASSERT_EQ(made.writes.size(), 1u);
  EXPECT_EQ(made.writes[0].line.number, kWritten.number + 3);
  EXPECT_EQ(made.writes[0].known, 0b1111);
  EXPECT_EQ(made.writes[0].chunks[0], 5u);
  EXPECT_EQ(made.writes[0].chunks[1], 1u) << "around the end";
  EXPECT_EQ(made.writes[0].chunks[2], 77u);
  entry.data_confidence = 0;
  pending.open(entry, std::ref(made));
  ASSERT_EQ(made.writes.size(), 2u) << "the address alone, at once";
  EXPECT_EQ(made.writes[1].known, 0);
  EXPECT_EQ(pending.size(), 0u);
}

// ---- The timeout

constexpr Time at(std::int64_t nanoseconds) { return Time{nanoseconds * 1000}; }

TEST(TimeoutPredictor, FiresOnceAfterTheTimeoutSinceTheLastStore) {
  TimeoutPredictor timeout(4, Picoseconds{150'000});
  EXPECT_EQ(timeout.stored(kWritten, at(0), at(0)), at(150));
  EXPECT_EQ(timeout.stored(kWritten, at(100), at(100)), std::nullopt)
      << "somebody looks at it already";
  const auto first = timeout.look(kWritten, at(150));
  EXPECT_FALSE(first.fires);
  EXPECT_EQ(first.again, at(250));
  EXPECT_TRUE(timeout.look(kWritten, at(250)).fires);
  EXPECT_FALSE(timeout.look(kWritten, at(250)).fires);
  EXPECT_EQ(timeout.stored(kWritten, at(300), at(300)), at(450)) << "the next store sets it back";
  EXPECT_TRUE(timeout.look(kWritten, at(450)).fires);
}

TEST(TimeoutPredictor, LateStoreIsCheckedAtOnce) {
  TimeoutPredictor timeout(4, Picoseconds{150'000});
  EXPECT_EQ(timeout.stored(kWritten, at(0), at(100)), at(150));
  EXPECT_EQ(timeout.stored({1}, at(0), at(200)), at(200)) << "its store retired long ago";
  EXPECT_TRUE(timeout.look({1}, at(200)).fires);
}

TEST(TimeoutPredictor, WrittenBackLineIsRemoved) {
  TimeoutPredictor timeout(4, Picoseconds{150'000});
  timeout.stored(kWritten, at(0), at(0));
  timeout.written_back(kWritten);
  EXPECT_EQ(timeout.stored(kWritten, at(100), at(100)), at(250));
  const auto stale = timeout.look(kWritten, at(150));  // the look that the first store scheduled
  EXPECT_FALSE(stale.fires);
  EXPECT_EQ(stale.again, std::nullopt);
  EXPECT_TRUE(timeout.look(kWritten, at(250)).fires);
}

TEST(TimeoutPredictor, LeastRecentlyStoredLineIsReplaced) {
  TimeoutPredictor timeout(2, Picoseconds{150'000});
  timeout.stored({1}, at(0), at(0));
  timeout.stored({2}, at(1), at(1));
  timeout.stored({1}, at(2), at(2));
  timeout.stored({3}, at(3), at(3));
  EXPECT_EQ(timeout.look({2}, at(151)).again, std::nullopt);
  EXPECT_EQ(timeout.look({1}, at(150)).again, at(152));
  EXPECT_EQ(timeout.use().hits, 0u);
  EXPECT_TRUE(timeout.look({1}, at(152)).fires);
  EXPECT_EQ(timeout.use().hits, 1u);
  EXPECT_EQ(timeout.use().most, 2u);
  EXPECT_EQ(timeout.use().displaced, 1u);
}

struct Sent {
  std::vector<std::pair<std::uint64_t, bool>> lines;
  void operator()(Line line, bool left) { lines.emplace_back(line.number, left); }
};

TEST(LineAccumulator, LinesAreSentOnceAfterTheTimeoutOrWhenReplaced) {
  LineAccumulator accumulator(2, Picoseconds{500'000});
  Sent sent;
  accumulator.stored({1}, at(0), std::ref(sent));
  accumulator.stored({2}, at(499), std::ref(sent));
  EXPECT_TRUE(sent.lines.empty());
  accumulator.stored({2}, at(500), std::ref(sent));
  EXPECT_EQ(sent.lines, (std::vector<std::pair<std::uint64_t, bool>>{{1, false}}));
  accumulator.stored({2}, at(600), std::ref(sent));
  EXPECT_EQ(sent.lines.size(), 1u) << "once";
  accumulator.stored({1}, at(700), std::ref(sent));
  accumulator.stored({3}, at(800), std::ref(sent));
  EXPECT_EQ(sent.lines.back(), (std::pair<std::uint64_t, bool>{1, true})) << "it came first";
  accumulator.written_back({2});
  accumulator.stored({4}, at(900), std::ref(sent));
  EXPECT_EQ(sent.lines.size(), 2u) << "there is room again";
  EXPECT_EQ(accumulator.use().hits, 1u);
  EXPECT_EQ(accumulator.use().displaced, 1u);
  EXPECT_EQ(accumulator.use().most, 2u);
}

// ---- The result buffer's lines

TEST(PredictedLines, LeastRecentlyPredictedLineIsReplacedCompletely) {
  PredictedLines lines(2, 2);
  EXPECT_TRUE(lines.to_displace({1}).empty());
  lines.add({1}, {11});
  lines.add({1}, {12});
  lines.add({2}, {21});
  EXPECT_EQ(lines.to_displace({1}), std::vector<PreparedId>{{11}}) << "its oldest candidate";
  EXPECT_EQ(lines.to_displace({3}), (std::vector<PreparedId>{{11}, {12}}));
  lines.remove({1}, {11});
  lines.add({1}, {13});
  EXPECT_EQ(lines.to_displace({3}), std::vector<PreparedId>{{21}});
  lines.remove({2}, {21});
  EXPECT_TRUE(lines.to_displace({3}).empty());
  EXPECT_EQ(lines.use().most, 3u) << "predictions of all lines";
}

// ---- A core's learner

// Executes update() of the paper's Figure 3a: its stores compute an address and a value, of which a
// line is made later.
struct Core {
  explicit Core(const PmWeaverParameters& parameters = {}) : learner(parameters) {}

  void store(std::uint64_t site, std::uint64_t value, std::size_t size = 8) {
    const auto bytes = bytes_of(value, size);
    learner.stored({0, site, 0x5000, bytes}, statistics, std::ref(made));
  }
  void flush(Line line, const LineData& data, ChunkMask stored) {
    learner.written_back(line, data, stored, statistics);
  }
  // Stores the address and the value, with two stores before them and one after, and then flushes
  // the line.
  void update(Line line, std::uint64_t value) {
    store(101, 1);
    store(102, 2);
    store(201, line.address());
    store(202, value);
    store(103, 3);
    LineData data{};
    std::memcpy(&data[8], &value, sizeof value);
    flush(line, data, 0b1100);
  }

  WriteLearner learner;
  LearnerStatistics statistics;
  Collected made;
};

TEST(WriteLearner, SecondWriteOfAPathIsPredicted) {
  Core core;
  for (std::uint64_t i = 0; i < 32; ++i) core.store(300 + i, 1000 + i);  // the same path each time
  core.update(kWritten, 0x55);
  EXPECT_EQ(core.statistics.learnt, 1u);
  EXPECT_TRUE(core.made.writes.empty());
  for (std::uint64_t i = 0; i < 32; ++i) core.store(300 + i, 1000 + i);
  core.store(101, 1);
  core.store(102, 2);
  EXPECT_EQ(core.statistics.triggered, 1u) << "at the store before the oldest that is needed";
  const Line next{kWritten.number + 5};
  core.store(201, next.address() + 8);
  EXPECT_TRUE(core.made.writes.empty());
  core.store(202, 0x77);
  ASSERT_EQ(core.made.writes.size(), 1u);
  EXPECT_EQ(core.made.writes[0].line, next);
  EXPECT_EQ(core.made.writes[0].known, 0b1100) << "the upper half was zero";
  EXPECT_EQ(core.made.writes[0].chunks[2], 0x77u);
  EXPECT_EQ(core.made.writes[0].chunks[3], 0u);
}

TEST(WriteLearner, OtherPathPredictsNothing) {
  Core core;
  core.update(kWritten, 0x55);
  core.store(999, 1);
  core.store(201, kWrittenAddress);
  core.store(202, 0x77);
  EXPECT_EQ(core.statistics.triggered, 0u);
}

TEST(WriteLearner, WriteWithoutASourceStoreIsNotLearnt) {
  Core core;
  core.store(202, 0x55);
  LineData data{};
  data[0] = std::byte{0x55};
  core.flush(kWritten, data, 1);
  EXPECT_EQ(core.statistics.address_unknown, 1u);
  core.store(201, kWrittenAddress);
  data[4] = std::byte{0x56};
  core.flush(kWritten, data, 0b11);
  EXPECT_EQ(core.statistics.data_unknown, 1u);
  EXPECT_EQ(core.statistics.learnt, 0u);
  core.flush(kWritten, data, 0b01);  // the other chunk wasn't stored to
  EXPECT_EQ(core.statistics.learnt, 1u);
  EXPECT_EQ(core.statistics.write_backs, 3u);
}

TEST(WriteLearner, AddressIsLearntAloneIfConfigured) {
  PmWeaverParameters parameters;
  parameters.learn_address_alone = true;
  Core core(parameters);
  LineData data{};
  data[0] = std::byte{0x55};
  for (int i = 0; i < 2; ++i) {
    for (std::uint64_t j = 0; j < 32; ++j) core.store(300 + j, 1000 + j);
    core.store(201, kWrittenAddress);
    core.flush(kWritten, data, 1);
  }
  EXPECT_EQ(core.statistics.learnt, 1u);
  ASSERT_EQ(core.made.writes.size(), 1u);
  EXPECT_FALSE(core.made.writes[0].with_data);
}

// Executes equal stores each time, the last of them with the value, and then flushes a line that no
// store contains.
void in_a_register(Core& core, Line line, std::uint64_t value, std::uint32_t count) {
  for (std::uint64_t j = 0; j < 32; ++j) core.store(300 + j, 1000 + j);
  core.store(202, value);
  LineData data{};
  std::memcpy(&data[0], &value, sizeof value);
  std::memcpy(&data[8], &count, sizeof count);
  core.flush(line, data, 0b111);
}

TEST(WriteLearner, ValueDeltaToTheLastWriteOfThePathIsPredicted) {
  PmWeaverParameters parameters;
  parameters.value_deltas = true;
  Core core(parameters);
  in_a_register(core, kWritten, 0x55, 70'000);
  EXPECT_EQ(core.statistics.address_unknown, 1u) << "there is no last write";
  in_a_register(core, {kWritten.number + 2}, 0x56, 70'003);
  EXPECT_EQ(core.statistics.address_unknown, 1u);
  EXPECT_EQ(core.statistics.by_delta, 1u);
  EXPECT_EQ(core.statistics.replaced, 1u) << "the entry that had the last write alone";
  EXPECT_TRUE(core.made.writes.empty());
  in_a_register(core, {kWritten.number + 9}, 0x57, 70'003);
  ASSERT_EQ(core.made.writes.size(), 1u);
  EXPECT_EQ(core.made.writes[0].line.number, kWritten.number + 4);
  EXPECT_EQ(core.made.writes[0].chunks[0], 0x57u);
  EXPECT_EQ(core.made.writes[0].chunks[2], 70'006u);
  EXPECT_EQ(core.made.writes[0].known, 0b111);
  EXPECT_EQ(core.statistics.kept, 1u) << "another difference";
  in_a_register(core, kWritten, 0x58, 1);
  ASSERT_EQ(core.made.writes.size(), 2u) << "the difference stays, the last write is the last";
  EXPECT_EQ(core.made.writes[1].line.number, kWritten.number + 11);
  EXPECT_EQ(core.made.writes[1].chunks[2], 70'006u);
}

TEST(WriteLearner, NextPointerOfAStoredLineIsPredicted) {
  PmWeaverParameters parameters;
  parameters.next_pointers = true;
  Core core(parameters);
  constexpr Line kHolder{kWritten.number - 10}, kLater{kWritten.number - 20},
      kOther{kWritten.number + 10};
  Image pm;
  core.learner.sees(pm);
  const auto point = [&](Line holder, std::uint64_t address) {
    pm.write(holder.address() + 24, reinterpret_cast<const std::byte*>(&address), 8);
  };
  const auto store_before = [&] {
    for (std::uint64_t j = 0; j < 32; ++j) core.store(300 + j, 1000 + j);
    core.store(400, 0x7000);  // leads nowhere
  };
  const auto update = [&](Line line, std::uint64_t value) {
    core.store(401, kHolder.address() + 8);
    core.store(402, kLater.address());
    core.store(202, value);
    LineData data{};
    std::memcpy(&data[0], &value, sizeof value);
    core.flush(line, data, 0b11);
  };
  store_before();
  update(kWritten, 0x55);
  EXPECT_EQ(core.statistics.address_unknown, 1u) << "no pointer leads there";
  point(kHolder, kWrittenAddress + 40);
  point(kLater, kWrittenAddress);
  store_before();
  update(kWritten, 0x55);
  EXPECT_EQ(core.statistics.by_next_pointer, 1u);
  point(kHolder, kOther.address());
  store_before();
  EXPECT_EQ(core.statistics.triggered, 1u) << "at the store before the pointer's";
  update(kOther, 0x66);
  ASSERT_EQ(core.made.writes.size(), 1u);
  EXPECT_EQ(core.made.writes[0].line, kOther) << "the first store's, as its line has it now";
  EXPECT_EQ(core.made.writes[0].chunks[0], 0x66u);
}

TEST(WriteLearner, ZerosNeedASourceStoreIfNotConfigured) {
  PmWeaverParameters parameters;
  parameters.zeros = false;
  Core core(parameters);
  core.store(201, kWrittenAddress);  // the value's upper half isn't zero
  core.flush(kWritten, {}, 1);
  EXPECT_EQ(core.statistics.data_unknown, 1u);
  core.store(202, 5);  // the value's upper half is zero
  core.flush(kWritten, {}, 1);
  EXPECT_EQ(core.statistics.learnt, 1u);
}

TEST(WriteLearner, SmallStoresAreNotPartOfThePath) {
  Core core;
  for (std::uint64_t i = 0; i < 32; ++i) core.store(300 + i, 1000 + i);
  core.update(kWritten, 0x55);
  for (std::uint64_t i = 0; i < 32; ++i) core.store(300 + i, 1000 + i);
  core.store(101, 1);
  core.store(500, 9, 2);
  core.store(102, 2);
  EXPECT_EQ(core.statistics.triggered, 1u);
}

TEST(WriteLearner, ArtifactVariantUsesAStoreOnce) {
  PmWeaverParameters parameters;
  parameters.variant = PmWeaverVariant::kArtifact;
  Core core(parameters);
  LineData data{};
  data[0] = std::byte{7};
  core.store(201, kWrittenAddress);
  core.store(202, 7, 4);
  core.flush(kWritten, data, 1);
  EXPECT_EQ(core.statistics.learnt, 1u);
  core.flush(kWritten, data, 1);
  EXPECT_EQ(core.statistics.address_unknown, 1u);
}

TEST(WriteLearner, ArtifactVariantPredictsConstants) {
  PmWeaverParameters parameters;
  parameters.variant = PmWeaverVariant::kArtifact;
  parameters.path_length = 3;
  Core core(parameters);
  core.store(103, 3);  // the same path each time
  core.update(kWritten, 7);
  core.update(kWritten, 8);
  ASSERT_EQ(core.made.writes.size(), 1u);
  EXPECT_EQ(core.made.writes[0].chunks[2], 8u);
  for (int i = 0; i < 2; ++i)
    core.learner.table().record_wrong_chunk(core.made.writes[0].path, 2, 9);
  core.update(kWritten, 10);
  ASSERT_EQ(core.made.writes.size(), 2u);
  EXPECT_EQ(core.made.writes[1].chunks[2], 9u);
}

}  // namespace
}  // namespace pmemsim
