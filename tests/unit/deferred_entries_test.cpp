// Selective metadata atomicity: which entries persist later than their data, when they persist, and
// which data a crash before that leaves readable.
#include "pmemsim/designs/backend/deferred_entries.hpp"
#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/operation.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pmemsim/designs/backend/sealed_image.hpp"
#include "sealed_bench.hpp"

namespace pmemsim {
namespace {

constexpr Line kA{0}, kB{1}, kFar{40};  // the first two have their entries in one line

// Decodes the surviving data at each change.
class Selective : public Sealed, public PersistenceObserver {
 public:
  explicit Selective(bool deduplicates = false, const MetadataCacheParameters& cache = {},
                     Sealing sealing = Sealing::kVerified,
                     const IntegrityParameters& integrity = {})
      : Sealed(deduplicates, integrity, {}, sealing, true, cache),
        decoder_(backend->parts().decoder()) {
    memory.observe(this);
  }

  void persisted(const Write& write, PersistencePoint, Time) override {
    persisted_with_next(write);
    EXPECT_EQ(decoder_->problem(), "");
    ++changes;
  }
  void persisted_with_next(const Write& write) override {
    order.push_back(write.line);
    decoder_->registers_changed({});
    decoder_->changed(write.line, memory.surviving(write.line),
                      [this](Line line, const LineData& data) { read_[line] = data; });
  }
  void dropped(const Write&, Time) override {}

  // A store, and the line's write as a flush sends it.
  WriteId store(Line line, std::uint64_t value, EntryNeed need) {
    backend->parts().stored(line, need);
    return write(line, value);
  }
  bool readable(Line line) const { return read(line) == data_of(plain.at(line.number)); }
  LineData read(Line line) const {
    const auto found = read_.find(line);
    return found == read_.end() ? LineData{} : found->second;
  }
  void note(std::uint64_t number, Time) {
    done.push_back(number);
    for (const auto& [line, _] : plain) unreadable_when_done += !readable({line});
  }
  bool publish(std::uint64_t number) {
    return backend->parts().publish(completion<&Selective::note>(*this, number));
  }
  // Returns the line's position in the order of persistence; -1: it isn't persistent.
  std::ptrdiff_t when(Line line) const {
    const auto found = std::ranges::find(order, line);
    return found == order.end() ? -1 : found - order.begin();
  }
  static Line entries_of(Line line) { return EntryLayout(true).line_of(line); }

  std::vector<Line> order;
  std::vector<std::uint64_t> done;
  std::uint64_t changes = 0, unreadable_when_done = 0;

 private:
  std::unique_ptr<ImageDecoder> decoder_;
  std::map<Line, LineData> read_;
};

TEST(DeferredEntries, LinesAreUnreadableUntilACommit) {
  Selective bench;
  bench.store(kA, 1, EntryNeed::kLater);
  bench.run();
  EXPECT_EQ(bench.read(kA), unreadable_line());
  bench.store(kFar, 3, EntryNeed::kCommit);
  bench.run();
  EXPECT_TRUE(bench.readable(kA));
  EXPECT_TRUE(bench.readable(kFar));
  EXPECT_LT(bench.when(kA), bench.when(Selective::entries_of(kA)));
  EXPECT_LT(bench.when(Selective::entries_of(kA)), bench.when(kFar));
  bench.store(kA, 2, EntryNeed::kLater);
  bench.run();
  EXPECT_EQ(bench.read(kA), unreadable_line());
  EXPECT_EQ(bench.backend->newest(kA), data_of(2));
}

TEST(DeferredEntries, LogsAndStoresOutsideRegionsAreNotDeferred) {
  Selective bench;
  bench.store(kA, 1, EntryNeed::kTogether);
  for (const WriteKind kind : {WriteKind::kLog, WriteKind::kLogHeader}) {
    const Line line{20 + 10 * static_cast<std::uint64_t>(kind)};
    bench.plain[line.number] = 7;
    bench.backend->write(
        {.line = line, .kind = kind, .data = data_of(7), .persisted = {}, .written = {}});
  }
  bench.run();
  for (const auto& [number, _] : bench.plain) EXPECT_TRUE(bench.readable({number})) << number;
  EXPECT_TRUE(bench.publish(1)) << "nothing has been left behind";
}

TEST(DeferredEntries, StoreOutsideRegionsEndsDeferralForItsLine) {
  Selective bench;
  bench.store(kA, 1, EntryNeed::kTogether);
  bench.store(kA, 2, EntryNeed::kLater);
  bench.run();
  EXPECT_TRUE(bench.readable(kA));
}

TEST(DeferredEntries, EntryIsWrittenWithAnotherEntryOfItsMetadataLine) {
  Selective bench;
  bench.store(kA, 1, EntryNeed::kLater);
  bench.run();
  bench.store(kB, 2, EntryNeed::kTogether);
  bench.run();
  EXPECT_TRUE(bench.readable(kA));
  EXPECT_TRUE(bench.publish(1));
}

TEST(DeferredEntries, EntriesArePublishedOnce) {
  Selective bench;
  bench.store(kA, 1, EntryNeed::kLater);
  bench.store(kFar, 2, EntryNeed::kLater);
  bench.run();
  EXPECT_FALSE(bench.publish(1));
  EXPECT_FALSE(bench.publish(2)) << "they are under way";
  bench.run();
  EXPECT_EQ(bench.done, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(bench.unreadable_when_done, 0u);
  EXPECT_TRUE(bench.readable(kA));
  EXPECT_TRUE(bench.readable(kFar));
  EXPECT_TRUE(bench.publish(3));
}

// A cache of two lines.
TEST(DeferredEntries, EvictedEntriesAreWritten) {
  Selective bench(false, {.size_per_core = {128}, .ways = 2});
  bench.store({0}, 1, EntryNeed::kLater);
  bench.run();
  bench.store({8}, 2, EntryNeed::kLater);
  bench.run();
  EXPECT_EQ(bench.when(Selective::entries_of({0})), -1);
  bench.store({16}, 3, EntryNeed::kLater);
  bench.run();
  EXPECT_TRUE(bench.readable({0}));
  EXPECT_FALSE(bench.readable({8}));
  EXPECT_FALSE(bench.publish(1));
  bench.run();
  for (const auto& [number, _] : bench.plain) EXPECT_TRUE(bench.readable({number})) << number;
}

TEST(DeferredEntries, EntryOfADuplicateIsNotDeferred) {
  Selective bench(true);
  bench.store(kA, 1, EntryNeed::kTogether);
  bench.settle();
  bench.store(kFar, 1, EntryNeed::kLater);
  bench.run();
  EXPECT_TRUE(bench.readable(kFar));
}

TEST(DeferredEntries, PublishedEntryPersistsItsTreeNodes) {
  IntegrityParameters integrity;
  integrity.persist_nodes = PersistNodes::kAll;
  Selective bench(false, {}, Sealing::kVerified, integrity);
  bench.store(kA, 1, EntryNeed::kLater);
  bench.run();
  EXPECT_EQ(bench.statistic("metadata.lowest_nodes_written"), 0);
  EXPECT_FALSE(bench.publish(1));
  bench.run();
  EXPECT_TRUE(bench.readable(kA));
  EXPECT_EQ(bench.statistic("metadata.entries_written"), 1);
  EXPECT_EQ(bench.statistic("metadata.lowest_nodes_written"), 1);
  EXPECT_EQ(bench.statistic("metadata.higher_nodes_written"), 7);
  EXPECT_EQ(std::ranges::count_if(bench.order, [](Line line) { return is_node(line); }), 8);
}

// Tree nodes are published by themselves, or with another node of their line. PM then has all
// contents of the cache.
TEST(DeferredEntries, PublishedTreeNodesAreCleanInTheCache) {
  IntegrityParameters integrity;
  integrity.persist_nodes = PersistNodes::kAll;
  integrity.cache = {.size_per_core = {16 * kLineBytes}, .ways = 16};
  for (const bool together : {false, true}) {
    Selective bench(false, {}, Sealing::kVerified, integrity);
    bench.store(kA, 1, EntryNeed::kLater);
    bench.run();
    if (together) {
      bench.store(kB, 2, EntryNeed::kTogether);
    } else {
      EXPECT_FALSE(bench.publish(1));
    }
    bench.run();
    for (std::uint64_t far = 1; far < 4; ++far) {  // which evicts the lowest nodes
      bench.store({far << 14}, 3, EntryNeed::kTogether);
      bench.run();
    }
    EXPECT_EQ(bench.statistic("tree_cache.write_backs"), 0) << together;
    EXPECT_EQ(bench.statistic("metadata.lowest_nodes_written"), 1 + 3) << together;
  }
}

TEST(DeferredEntries, EntriesAreWrittenAlthoughTheCommitIsDropped) {
  Selective bench;
  bench.store(kA, 1, EntryNeed::kLater);
  bench.run();
  const WriteId commit = bench.store(kFar, 3, EntryNeed::kCommit);
  EXPECT_TRUE(bench.backend->drop(commit));
  bench.plain.erase(kFar.number);
  bench.run();
  EXPECT_EQ(bench.when(kFar), -1);
  EXPECT_TRUE(bench.readable(kA));
}

TEST(DeferredEntries, EvictedLineIsUnreadableUntilItsEntryIsPublished) {
  Selective bench;
  bench.backend->parts().stored(kA, EntryNeed::kLater);
  bench.backend->parts().stored(kB, EntryNeed::kTogether);
  bench.backend->parts().stored(kFar, EntryNeed::kCommit);
  EXPECT_EQ(bench.backend->parts().evicted(kA, data_of(1)), unreadable_line());
  EXPECT_EQ(bench.backend->parts().evicted(kB, data_of(1)), data_of(1));
  EXPECT_EQ(bench.backend->parts().evicted(kFar, data_of(1)), data_of(1));
  bench.store(kA, 1, EntryNeed::kLater);
  bench.run();
  EXPECT_EQ(bench.backend->parts().evicted(kFar, data_of(1)), std::nullopt)
      << "it would have to wait";
}

// A write that left the caches before the data of a committed region arrives late.
TEST(DeferredEntries, LateOlderWriteDefersNoEntry) {
  Selective bench;
  const std::uint64_t departure = bench.backend->next_departure();
  bench.store(kA, 2, EntryNeed::kLater);
  bench.run();
  if (!bench.publish(1)) bench.run();
  bench.backend->write(
      {.line = kA, .data = data_of(1), .persisted = {}, .written = {}, .departure = departure});
  bench.run();
  EXPECT_TRUE(bench.readable(kA));
}

// An earlier commit waits for fewer entries.
TEST(DeferredEntries, EachCommitWaitsForTheEntriesBeforeIt) {
  Selective bench;
  bench.store(kFar, 1, EntryNeed::kCommit);
  bench.store(kA, 2, EntryNeed::kLater);
  bench.run_until(bench.queue.now() + ns(1));
  bench.store(kFar, 3, EntryNeed::kCommit);
  bench.run();
  EXPECT_EQ(std::ranges::count(bench.order, kFar), 2) << "they don't come together";
}

// For any order of writes: every image can be decoded, and writes that must not be deferred never
// are. A commit publishes all entries accepted before it.
class RandomDeferredEntries : public testing::TestWithParam<std::tuple<bool, PersistNodes>> {};
INSTANTIATE_TEST_SUITE_P(WithDeduplication, RandomDeferredEntries,
                         testing::Combine(testing::Bool(), testing::Values(PersistNodes::kLeaves,
                                                                           PersistNodes::kAll)));

TEST_P(RandomDeferredEntries, RandomStoresAreReadableOnceDeferredMetadataIsWritten) {
  const auto& [deduplicates, persist_nodes] = GetParam();
  IntegrityParameters integrity;
  integrity.persist_nodes = persist_nodes;
  Selective bench(deduplicates, {.size_per_core = {256}, .ways = 2}, Sealing::kVerified, integrity);
  std::mt19937_64 random(1);
  constexpr std::uint64_t kLater = 48;  // lines from there on never wait
  std::uint64_t unreadable = 0;
  for (int step = 0; step < 3000; ++step) {
    const Line line{random() % kLines};
    bench.store(line, random() % 1000,
                line.number < kLater ? EntryNeed::kLater : EntryNeed::kTogether);
    if (random() % 4 == 0) bench.run();
    if (random() % 16 != 0) continue;
    bench.run();
    for (const auto& [number, _] : bench.plain) {
      if (number >= kLater) EXPECT_TRUE(bench.readable({number})) << number;
      unreadable += !bench.readable({number});
    }
    if (!bench.publish(1)) bench.run();
    for (const auto& [number, _] : bench.plain) EXPECT_TRUE(bench.readable({number})) << number;
  }
  EXPECT_GT(unreadable, 100u);
  EXPECT_GT(bench.changes, 1000u);
}

}  // namespace
}  // namespace pmemsim
