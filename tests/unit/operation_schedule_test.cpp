// The time that operations take for a write, to the picosecond: Janus's Table 1, sections 3.1, 4.2
// and 4.3.1, and the rules of designs/backend/schedule.hpp.
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/backend/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "memory_bench.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/designs/backend/deduplication.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/integrity.hpp"

namespace pmemsim {
namespace {

constexpr Line kLine{0}, kOther{4096};
constexpr Picoseconds kMd5 = ns(321), kTree = ns(9 * 40), kAes = ns(40), kHash = ns(40);
// How long a write takes with all that it needs cached (readings of Janus's 2.3 and 4.2).
constexpr Picoseconds kSerialized = kMd5 + kAes + kAes + kHash + kTree;
constexpr Picoseconds kSerializedDuplicate = kMd5 + kAes + kTree;
constexpr Picoseconds kParallel = kMd5 + kTree;
constexpr Picoseconds kConflictRead = ns(30 + 10 + 20 + 5);  // where a bank has another row open
static_assert(kSerialized == ns(801) && kSerializedDuplicate == ns(721) && kParallel == ns(681));

struct Chosen {
  BackendParameters backend{};
  DeduplicationParameters deduplication{};
  bool deduplicates = true;
  std::uint32_t cores = 1;
  EncryptionParameters encryption{};
  IntegrityParameters integrity{};
  bool encrypts = true;
  bool verifies = true;
  bool caches_all = true;  // True: metadata that the tests' writes look up are cached.
};

// A memory behind encryption, integrity and deduplication, with an observer of predictions.
class Janus : public MemoryBench, public PredictionObserver {
 public:
  explicit Janus(const Chosen& chosen = {}) : MemoryBench(roomy()) {
    BackendParts::Operations operations;
    if (chosen.deduplicates) {
      operations.push_back(std::make_unique<Deduplication>(chosen.deduplication, chosen.cores));
    }
    if (chosen.encrypts) operations.push_back(std::make_unique<Encryption>(chosen.encryption));
    if (chosen.verifies) {
      operations.push_back(std::make_unique<Integrity>(chosen.integrity, chosen.cores));
    }
    BackendParts parts(std::move(operations));
    parts.add_shared(chosen.backend, {}, chosen.cores);
    backend = std::make_unique<Backend>(queue, memory, std::move(parts), ns(0));
    backend->predictions().configure({.entries = 64}, *this);
    if (chosen.caches_all) cache_all();
  }
  // Caches the metadata that the tests' writes look up.
  void cache_all() {
    for (const Line line : {kLine, kOther}) write(1000 + line.number, line);
    for (std::uint64_t value = 1; value < 10; ++value) {
      const PreparedId id = prepare({}, value);
      settle();
      backend->predictions().discard(id);
    }
    outcomes = 0;
    reads_before = statistic("backend.metadata_reads");
  }
  void outcome(const Outcome&) override { ++outcomes; }
  static MemoryParameters roomy() {
    MemoryParameters parameters = simple_memory();
    parameters.wpq_entries = 64;
    return parameters;
  }

  // Runs until no event is left.
  void settle() {
    run();
    drain();
  }
  PreparedId prepare(std::optional<Line> line, std::optional<std::uint64_t> value) {
    return backend->predictions().prepare({.core = 0,
                                           .number = 0,
                                           .line = line,
                                           .data = data_of(value.value_or(0)),
                                           .bytes = value ? kWholeLine : 0});
  }
  // Writes, waits for it, and says how long it has taken.
  Picoseconds write(std::uint64_t value, Line line = kLine) {
    const Time sent = queue.now();
    send(value, line);
    return took(writes, sent);
  }
  // Returns the time that a read takes.
  Picoseconds read(Line line) {
    const Time sent = queue.now();
    backend->read(line, noting(++writes));
    return took(writes, sent);
  }
  WriteId send(std::uint64_t value, Line line = kLine) {
    return backend->write({.line = line,
                           .data = data_of(value),
                           .persisted = completion<&Janus::note>(*this, ++writes),
                           .written = {}});
  }
  Completion noting(std::uint64_t number) { return completion<&Janus::note>(*this, number); }
  Picoseconds took(std::uint64_t number, Time sent) {
    while (persisted_at[number].empty()) {
      if (queue.step()) continue;
      ADD_FAILURE() << "nothing happens any more";
      return {};
    }
    return persisted_at[number].front() - sent;
  }
  void wait(Picoseconds time) { run_until(queue.now() + time); }
  double statistic(const std::string& name) const {
    StatisticsCollector collector;
    backend->statistics(collector);
    for (const Statistic& found : collector.found) {
      if (found.name == name) return found.value;
    }
    ADD_FAILURE() << "there is no statistic " << name;
    return 0;
  }

  std::unique_ptr<Backend> backend;
  std::uint64_t writes = 0;
  int outcomes = 0;
  double reads_before = 0;  // metadata reads before the test

 private:
  void note(std::uint64_t number, Time when) { persisted_at[number].push_back(when); }
};

Chosen serialized() {
  Chosen chosen;
  chosen.backend.execution = Execution::kSerialized;
  return chosen;
}

// ---- Without anything early

TEST(OperationSchedule, SerializedWriteTakesTheSumOfAllSubOperations) {
  Janus bench(serialized());
  EXPECT_EQ(bench.write(1), kSerialized);
}

TEST(OperationSchedule, DuplicateSkipsEncryptionAndMac) {
  Janus bench(serialized());
  bench.write(1);
  bench.settle();  // it is found once it has been written
  EXPECT_EQ(bench.write(1, kOther), kSerializedDuplicate);
  Janus parallel;
  parallel.write(1);
  parallel.settle();
  EXPECT_EQ(parallel.write(1, kOther), kParallel) << "the tree is the critical path";
}

TEST(OperationSchedule, ParallelWriteTakesTheCriticalPath) {
  Janus bench;
  EXPECT_EQ(bench.write(1), kParallel) << "D1, D2, I1 ... I9";
  Janus two({.deduplicates = false});
  EXPECT_EQ(two.write(1), kTree) << "E1, I1 ... I9; E2, E3, E4 beside them";
}

TEST(OperationSchedule, EntryCacheMissWaitsForPm) {
  Janus bench;
  const Picoseconds cached = bench.write(1);
  bench.settle();
  const Picoseconds missed = bench.write(2, {1 << 20});
  EXPECT_GT(missed, cached);
  EXPECT_EQ(bench.statistic("backend.metadata_reads"), bench.reads_before + 1)
      << "the line of entries";
}

TEST(OperationSchedule, MissingEntryIsReadBeforeThePadIsComputed) {
  Janus bench({.deduplicates = false, .verifies = false, .caches_all = false});
  EXPECT_EQ(bench.write(1), ns(10 + 20 + 5) + kAes);
  bench.settle();
  EXPECT_EQ(bench.write(2), kAes);
}

// Nodes of the tree come one after the other, since each is a hash of the one below.
TEST(OperationSchedule, TreeCacheMissWaitsForPm) {
  Chosen chosen{.deduplicates = false};
  chosen.integrity.levels = 2;
  chosen.integrity.cache = {.size_per_core = {64}, .ways = 1};
  Janus bench(chosen);
  EXPECT_EQ(bench.write(1, kOther), kHash * 2) << "its node was the last";
  bench.settle();
  EXPECT_EQ(bench.write(1), kHash + kConflictRead + kHash);
  EXPECT_EQ(bench.statistic("backend.metadata_reads"), bench.reads_before + 1);
}

TEST(OperationSchedule, FingerprintTableMissWaitsForPm) {
  Chosen chosen;
  chosen.deduplication.cache = {.size_per_core = {64}, .ways = 1};
  Janus bench(chosen);
  EXPECT_EQ(bench.write(1), kMd5 + kConflictRead + kTree);
  EXPECT_EQ(bench.statistic("backend.metadata_reads"), bench.reads_before + 1);
  bench.settle();
  EXPECT_EQ(bench.write(1), kParallel) << "the line of the table that was looked up last";
}

TEST(OperationSchedule, MacTakesItsConfiguredLatency) {
  Chosen chosen{.deduplicates = false};
  chosen.integrity.levels = 1;
  chosen.integrity.mac_latency = ns(100);
  Janus bench(chosen);
  EXPECT_EQ(bench.write(1), kAes + ns(100));
}

// ---- PMWeaver's operations (readings of its II-B, with all cached)

TEST(OperationSchedule, EncVeriTakes560ns) {
  Chosen chosen{.deduplicates = false};
  chosen.integrity.levels = 13;
  chosen.integrity.leaf_after = LeafAfter::kPad;
  Janus bench(chosen);
  EXPECT_EQ(bench.write(1), ns(40 + 13 * 40));
  chosen.integrity.leaf_after = LeafAfter::kCounter;
  Janus sooner(chosen);
  EXPECT_EQ(sooner.write(1), ns(13 * 40));
}

TEST(OperationSchedule, DedupTakes300nsFromTheArrivalOfTheData) {
  Chosen chosen{.encrypts = false, .verifies = false};
  chosen.deduplication.md5_latency = ns(300);
  chosen.deduplication.entry_latency = ns(0);
  Janus bench(chosen);
  EXPECT_EQ(bench.write(1), ns(300));
  bench.settle();
  EXPECT_EQ(bench.write(1, kOther), ns(300)) << "a duplicate";
  const PreparedId id = bench.prepare(kLine, {});
  bench.wait(ns(500));
  bench.backend->predictions().complete(id, data_of(3), kWholeLine);
  bench.wait(ns(100));
  EXPECT_EQ(bench.write(3), ns(200));
}

// ---- Executed and unused sub-operations

// Counts of sub-operations since the previous query.
class Executed {
 public:
  explicit Executed(const Janus& bench) : bench_(bench) { news(); }
  using Counts = std::vector<double>;  // pads, MACs, hashes of the tree; of each, those in vain
  Counts news() {
    Counts now;
    for (const char* const name :
         {"pads", "macs", "tree_hashes", "pads_unused", "macs_unused", "tree_hashes_unused"}) {
      now.push_back(bench_.statistic(std::string("backend.") + name));
    }
    Counts news = now;
    for (std::size_t i = 0; i < before_.size(); ++i) news[i] -= before_[i];
    before_ = now;
    return news;
  }

 private:
  const Janus& bench_;
  Counts before_;
};

TEST(ExecutedSubOperations, PredictedWriteExecutesNothingTwice) {
  Janus bench({.deduplicates = false});
  Executed executed(bench);
  bench.write(1);
  EXPECT_EQ(executed.news(), (Executed::Counts{1, 1, 9, 0, 0, 0}));
  bench.prepare(kLine, 2);
  bench.wait(ns(1000));
  bench.write(2);
  EXPECT_EQ(executed.news(), (Executed::Counts{1, 1, 9, 0, 0, 0})) << "before it came";
}

TEST(ExecutedSubOperations, MacForOtherDataIsUnused) {
  Janus bench({.deduplicates = false});
  Executed executed(bench);
  bench.prepare(kLine, 1);
  bench.wait(ns(1000));
  bench.write(2);
  EXPECT_EQ(executed.news(), (Executed::Counts{1, 2, 9, 0, 1, 0})) << "the MAC";
}

TEST(ExecutedSubOperations, DiscardedPredictionIsUnused) {
  Janus bench({.deduplicates = false});
  Executed executed(bench);
  const PreparedId id = bench.prepare(kLine, 1);
  bench.wait(ns(100));
  bench.backend->predictions().discard(id);
  bench.settle();
  EXPECT_EQ(executed.news(), (Executed::Counts{1, 1, 3, 1, 1, 3})) << "the third hash has begun";
  const PreparedId done = bench.prepare(kLine, 1);
  bench.wait(ns(1000));
  bench.backend->predictions().discard(done);
  EXPECT_EQ(executed.news(), (Executed::Counts{1, 1, 9, 1, 1, 9}));
}

// Both lines have the five highest of nine hashes in common.
TEST(ExecutedSubOperations, OutdatedTreeHashesAreUnused) {
  Janus bench({.deduplicates = false});
  Executed executed(bench);
  bench.prepare(kLine, 1);
  bench.wait(ns(1000));
  bench.write(2, kOther);
  bench.write(1);
  EXPECT_EQ(executed.news(), (Executed::Counts{2, 2, 9 + 9 + 5, 0, 0, 5}));
}

// The pad is made beside the fingerprint, and another one for the entry.
TEST(ExecutedSubOperations, FirstPadOfADuplicateIsUnused) {
  Janus bench;
  bench.write(77);
  bench.settle();
  Executed executed(bench);
  const double before = bench.statistic("backend.md5s");
  bench.write(77, kOther);
  EXPECT_EQ(executed.news(), (Executed::Counts{2, 0, 9, 1, 0, 0}));
  EXPECT_EQ(bench.statistic("backend.md5s") - before, 1);
  EXPECT_EQ(bench.statistic("backend.md5s_unused"), bench.statistic("backend.md5s") - 4)
      << "set-up has looked nine fingerprints up, and four writes have come";
}

// ---- Reads

// In another bank than its line of entries. Closed banks: 10 + 20 + 5 ns for a line of entries; a
// line that comes beside it has the bus 5 ns later. Open rows: 20 + 5 ns.
constexpr Line kOtherBank{2};

Chosen reading(Picoseconds aes, bool deduplicates = false) {
  Chosen chosen{.deduplicates = deduplicates, .verifies = false, .caches_all = false};
  chosen.encryption.aes_latency = aes;
  return chosen;
}

TEST(Reading, ComputesThePadInParallelWithThePmRead) {  // 2.2
  Janus slow(reading(ns(40)));
  slow.read(kOtherBank);
  slow.wait(ns(1000));
  EXPECT_EQ(slow.read(kOtherBank), ns(40)) << "the pad";
  Janus quick(reading(ns(10)));
  quick.read(kOtherBank);
  quick.wait(ns(1000));
  EXPECT_EQ(quick.read(kOtherBank), ns(25)) << "PM";
}

TEST(Reading, CountsItsPadsSeparatelyFromWrites) {
  Janus bench(reading(ns(40)));
  bench.read(kOtherBank);
  bench.wait(ns(1000));
  bench.read(kOtherBank);
  EXPECT_EQ(bench.statistic("encryption.read_pads"), 2);
  EXPECT_EQ(bench.statistic("backend.pads"), 0) << "those are writes'";
}

TEST(Reading, ComputesThePadAfterReadingAMissingEntry) {
  EXPECT_EQ(Janus(reading(ns(40))).read(kOtherBank), ns(35 + 40));
  EXPECT_EQ(Janus(reading(ns(10))).read(kOtherBank), ns(35 + 10));
  EXPECT_EQ(Janus(reading(ns(1))).read(kOtherBank), ns(35 + 5)) << "PM, beside the entry";
}

TEST(Reading, LooksUpTheDeduplicationMappingFirst) {
  EXPECT_EQ(Janus(reading(ns(40), true)).read(kOtherBank), ns(35 + 40));
  Janus quick(reading(ns(10), true));
  EXPECT_EQ(quick.read(kOtherBank), ns(35 + 35)) << "the entry, then the line";
  quick.wait(ns(1000));
  EXPECT_EQ(quick.read(kOtherBank), ns(25)) << "the mapping is known";
}

// Up to the first node that is cached: of eight on a leaf's way below the root.
TEST(Reading, VerifiesMissingEntriesUpToTheFirstCachedNode) {
  Janus bench({.deduplicates = false, .caches_all = false});
  const auto verified_by = [&](Line line) {
    const double before = bench.statistic("integrity.nodes_verified");
    bench.read(line);
    return bench.statistic("integrity.nodes_verified") - before;
  };
  EXPECT_EQ(verified_by({0}), 8) << "all";
  EXPECT_EQ(verified_by({1}), 0) << "the entry is cached";
  EXPECT_EQ(verified_by({4}), 0) << "leaf 1 is below the same node";
  EXPECT_EQ(verified_by({4 * 8}), 1);
  EXPECT_EQ(verified_by({4 * 8 * 8 * 8}), 3);
}

// ---- Drawn duplicates

std::vector<bool> draws(std::uint32_t percent, std::uint32_t seed) {
  DeduplicationParameters parameters;
  parameters.duplicates = Duplicates::kDrawn;
  parameters.drawn_percent = percent;
  parameters.seed = seed;
  Deduplication deduplication(parameters, 1);
  std::vector<bool> found;
  for (std::uint64_t value = 0; value < 10'000; ++value) {
    found.push_back(deduplication.duplicate({.line = kLine, .data = data_of(value)}).has_value());
  }
  return found;
}

TEST(DrawnDuplicates, MatchTheConfiguredPercentage) {
  for (const std::uint32_t percent : {0u, 25u, 50u, 75u, 100u}) {
    const auto drawn = std::ranges::count(draws(percent, 1), true);
    // Three standard deviations of 10,000 draws are at most 1.5%; of none and of all, nothing.
    EXPECT_NEAR(drawn, 100 * percent, percent % 100 == 0 ? 0 : 150) << percent;
  }
}

TEST(DrawnDuplicates, DependOnDataAndSeedOnly) {
  EXPECT_EQ(draws(50, 1), draws(50, 1));
  const std::vector<bool> one = draws(50, 1), other = draws(50, 2);
  int same = 0;
  for (std::size_t i = 0; i < one.size(); ++i) same += one[i] == other[i];
  EXPECT_NEAR(same, 5000, 150) << "as if they knew nothing of each other";
}

TEST(DrawnDuplicates, DecideWhichWritesAreDuplicates) {
  Chosen chosen;
  chosen.deduplication.duplicates = Duplicates::kDrawn;
  Janus bench(chosen);
  const double before = bench.statistic("deduplication.duplicates");
  for (std::uint64_t value = 0; value < 200; ++value) {
    bench.write(value);
    bench.settle();
    EXPECT_EQ(bench.backend->newest(kLine), data_of(value));
  }
  const std::vector<bool> drawn = draws(50, 1);
  EXPECT_EQ(bench.statistic("deduplication.duplicates") - before,
            std::count(drawn.begin(), drawn.begin() + 200, true));
}

// ---- With something early

TEST(OperationSchedule, WritePredictedInTimeTakesNoTime) {
  Janus bench;
  bench.prepare(kLine, 1);
  bench.wait(kParallel);
  EXPECT_EQ(bench.write(1), ns(0));
  EXPECT_EQ(bench.statistic("backend.done_before"), 1);
}

TEST(OperationSchedule, WritePredictedLateTakesTheRemainingTime) {  // 4.3.1
  Janus bench;
  bench.prepare(kLine, 1);
  bench.wait(ns(400));
  EXPECT_EQ(bench.write(1), kParallel - ns(400));
  EXPECT_EQ(bench.statistic("backend.executed_before"), 0);
}

TEST(OperationSchedule, OutdatedResultCountsAsExecutedBefore) {  // 5.2.2
  Janus bench;
  bench.prepare(kLine, 1);
  bench.wait(kParallel);
  bench.write(2, kOther);  // changes the tree's root
  EXPECT_GT(bench.write(1), ns(0));
  EXPECT_EQ(bench.statistic("backend.executed_before"), 1);
  EXPECT_EQ(bench.statistic("backend.done_before"), 0);
}

TEST(OperationSchedule, AddressPredictionRunsOnlyAddressSubOperations) {
  Janus bench;
  bench.prepare(kLine, {});
  bench.wait(ns(1000));
  EXPECT_EQ(bench.write(1), kParallel);
  Janus two({.deduplicates = false});
  two.prepare(kLine, {});
  two.wait(ns(1000));
  EXPECT_EQ(two.write(1), kHash)
      << "the tree needs no data without deduplication: E3 and E4 are left";
}

TEST(OperationSchedule, DataPredictionRunsOnlyTheFingerprint) {
  Janus bench;
  const PreparedId id = bench.prepare({}, 1);
  bench.wait(ns(1000));
  bench.backend->predictions().complete(id, kLine);
  EXPECT_EQ(bench.write(1), kTree) << "longer than E1 to E4, which have just begun";
}

TEST(OperationSchedule, DataPredictionContinuesWhenTheAddressArrives) {
  Janus bench;
  const PreparedId id = bench.prepare({}, 1);
  bench.wait(ns(400));
  bench.backend->predictions().complete(id, kLine);
  bench.wait(ns(100));
  EXPECT_EQ(bench.write(1), kTree - ns(100));
}

TEST(OperationSchedule, WriteWithOtherDataReusesThePad) {  // 4.3.1
  Janus bench;
  bench.prepare(kLine, 1);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.write(2), kParallel);
  Janus two({.deduplicates = false});
  two.prepare(kLine, 1);
  two.wait(ns(1000));
  EXPECT_EQ(two.write(2), kHash);
}

TEST(OperationSchedule, UselessSubOperationRunsToItsEndBeforeTheRestart) {
  Janus bench;
  bench.prepare(kLine, 1);
  bench.wait(ns(100));
  EXPECT_EQ(bench.write(2), kMd5 - ns(100) + kParallel);
}

TEST(OperationSchedule, ReplacedDataRestartTheirSubOperations) {
  Janus bench;
  const PreparedId id = bench.prepare(kLine, 1);
  bench.wait(ns(1000));
  bench.backend->predictions().complete(id, data_of(2), kWholeLine);
  bench.wait(ns(21));
  EXPECT_EQ(bench.write(2), kParallel - ns(21));
}

TEST(OperationSchedule, SubOperationsSkippedForADuplicateAreDoneForOtherData) {
  Janus bench({.deduplicates = true});
  bench.write(1, kOther);
  bench.settle();
  bench.prepare(kLine, 1);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.write(2), kParallel) << "the pad, too, but beside the fingerprint";
}

// ---- Units

Chosen with_units(std::uint32_t units) {
  Chosen chosen;
  chosen.backend.units_per_core = units;
  return chosen;
}

TEST(OperationSchedule, UnitHandlesOneLineAtATime) {
  Janus bench(with_units(1));
  const Time sent = bench.queue.now();
  bench.send(1, kLine);
  bench.send(2, kOther);
  EXPECT_EQ(bench.took(bench.writes, sent), kParallel * 2);
  EXPECT_EQ(bench.statistic("backend.unit_wait_ns"), 681);
}

// Rule 7: the second one finds the unit busy for as long as the first one, which is unique, takes.
TEST(OperationSchedule, AcknowledgeOnArrivalRunsOperationsAfterwards) {
  Chosen ideal = with_units(1);
  ideal.backend.execution = Execution::kSerialized;
  ideal.backend.acknowledge = Acknowledge::kArrival;
  Janus bench(ideal);
  bench.settle();
  const double waited = bench.statistic("backend.unit_wait_ns");
  EXPECT_EQ(bench.write(7, kLine), ns(0));
  EXPECT_EQ(bench.write(8, kOther), ns(0));
  bench.settle();
  EXPECT_EQ(bench.statistic("backend.unit_wait_ns") - waited, 801)
      << "721 if a write were taken for a duplicate of itself";
  const double before = bench.statistic("backend.unit_wait_ns");
  bench.write(7, kOther);
  bench.write(9, kLine);
  bench.settle();
  EXPECT_EQ(bench.statistic("backend.unit_wait_ns") - before, 721) << "of a duplicate";
}

TEST(OperationSchedule, AcknowledgeOnArrivalCountsTimeUntilAllOperationsEnd) {
  Chosen ideal = with_units(1);
  ideal.backend.execution = Execution::kSerialized;
  ideal.backend.acknowledge = Acknowledge::kArrival;
  Janus bench(ideal);
  bench.settle();
  const double before = bench.statistic("backend.time_ns");
  bench.write(7, kLine);
  bench.write(8, kOther);
  bench.settle();
  EXPECT_EQ(bench.statistic("backend.time_ns") - before, 801 + 2 * 801)
      << "the second one waits for the unit of the first";
}

TEST(OperationSchedule, UnitWaitOfADroppedWriteIsNotCounted) {
  Janus bench(with_units(1));
  bench.settle();
  const double waited = bench.statistic("backend.unit_wait_ns");
  bench.send(1, kLine);
  const WriteId id = bench.send(2, kOther);
  bench.wait(kParallel + ns(100));  // it has the unit
  EXPECT_TRUE(bench.backend->drop(id));
  bench.settle();
  EXPECT_EQ(bench.statistic("backend.unit_wait_ns"), waited);
}

TEST(OperationSchedule, EachCoreAddsItsUnits) {
  Chosen chosen = with_units(1);
  chosen.cores = 2;
  Janus two(chosen);
  Time sent = two.queue.now();
  two.send(1, kLine);
  two.send(2, kOther);
  EXPECT_EQ(two.took(two.writes, sent), kParallel);
  Janus unlimited(with_units(0));
  sent = unlimited.queue.now();
  unlimited.send(1, kLine);
  unlimited.send(2, kOther);
  EXPECT_EQ(unlimited.took(unlimited.writes, sent), kParallel);
}

TEST(OperationSchedule, WritesGetUnitsBeforePredictions) {
  Janus bench(with_units(1));
  bench.prepare(Line{8}, 8);
  bench.prepare(Line{9}, 9);  // waits
  bench.wait(ns(1));
  const Time sent = bench.queue.now();
  bench.send(1, kLine);
  EXPECT_EQ(bench.took(bench.writes, sent), kParallel - ns(1) + kParallel)
      << "after the first prediction, which keeps its unit, and before the second";
}

TEST(OperationSchedule, PredictionThatCannotContinueReleasesItsUnit) {
  Janus bench(with_units(1));
  bench.prepare({}, 7);  // the data alone
  bench.wait(kMd5);
  EXPECT_EQ(bench.write(1), kParallel);
}

TEST(OperationSchedule, DroppedWriteReleasesItsUnitAfterTheRunningSubOperation) {
  Janus bench(with_units(1));
  const WriteId id = bench.send(1, kOther);
  bench.wait(ns(300));
  EXPECT_TRUE(bench.backend->drop(id));
  EXPECT_EQ(bench.write(2, kLine), kMd5 - ns(300) + kParallel);
}

TEST(OperationSchedule, DiscardedPredictionReleasesItsUnitAfterTheRunningSubOperation) {
  Janus bench(with_units(1));
  const PreparedId id = bench.prepare(kOther, 1);
  bench.wait(ns(300));
  EXPECT_TRUE(bench.backend->predictions().discard(id));
  EXPECT_EQ(bench.write(2, kLine), kMd5 - ns(300) + kParallel);
  const PreparedId waiting = bench.prepare(kOther, 1);
  bench.prepare({}, 3);
  EXPECT_TRUE(bench.backend->predictions().discard(waiting));
  bench.settle();
  EXPECT_EQ(bench.backend->pending(), "");
}

// ---- CRC-32

TEST(OperationSchedule, Crc32TakesLessTimeAndComparesDuplicates) {
  Chosen chosen;
  chosen.deduplication.fingerprint = Fingerprint::kCrc32;
  Janus bench(chosen);
  EXPECT_EQ(bench.write(1), ns(91) + kTree);
  bench.settle();
  const Picoseconds duplicate = bench.write(1, kOther);
  EXPECT_GT(duplicate, ns(91) + kTree) << "and a line read";
  EXPECT_EQ(bench.statistic("deduplication.compared"), 1);
  EXPECT_EQ(bench.statistic("deduplication.duplicates"), 1);
}

// ---- A newer write of a line that is still worked on

// The fingerprint in progress is useless then, but its unit computes it to the end.
TEST(Coalescing, NewerDataRestartTheSubOperations) {
  Janus bench;
  const Time sent = bench.queue.now();
  const WriteId first = bench.send(1);
  bench.wait(ns(100));
  EXPECT_EQ(bench.send(2), first);
  EXPECT_EQ(bench.took(bench.writes - 1, sent), kMd5 + kParallel);
  EXPECT_EQ(bench.took(bench.writes, sent), kMd5 + kParallel);
  EXPECT_EQ(bench.backend->newest(kLine), data_of(2));
  EXPECT_EQ(bench.statistic("backend.coalesced"), 1);
}

TEST(Coalescing, EqualDataContinueTheSubOperations) {
  Janus bench;
  const Time sent = bench.queue.now();
  bench.send(1);
  bench.wait(ns(100));
  bench.send(1);
  EXPECT_EQ(bench.took(bench.writes, sent), kParallel);
}

TEST(Coalescing, NewerDataMayBeADuplicate) {
  Janus bench(serialized());
  bench.write(7, kOther);
  bench.settle();
  const Time sent = bench.queue.now();
  bench.send(1);
  bench.wait(ns(100));
  bench.send(7);
  EXPECT_EQ(bench.took(bench.writes, sent), kMd5 + kSerializedDuplicate);
}

TEST(Coalescing, EveryCoalescedWriteIsNotifiedWhenWritten) {
  Janus bench;
  const std::uint64_t first = bench.writes + 100;
  for (std::uint64_t i = 0; i < 3; ++i) {
    bench.backend->write(
        {.line = kLine, .data = data_of(i), .persisted = {}, .written = bench.noting(first + i)});
  }
  bench.settle();
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(bench.persisted_at[first + i].size(), 1u) << i;
}

TEST(Coalescing, PartialWritesOfALineCoalesce) {
  Janus bench;
  bench.write(7);
  LineData data = data_of(1);
  data[8] = std::byte{2};
  for (const ByteMask bytes : {bytes_from(0, 8), bytes_from(8, 8)}) {
    bench.backend->write(
        {.line = kLine, .data = data, .persisted = {}, .written = {}, .bytes = bytes});
  }
  bench.settle();
  EXPECT_EQ(bench.backend->newest(kLine), data);
  EXPECT_EQ(bench.statistic("backend.coalesced"), 1);
}

TEST(Coalescing, WritesOfDifferentKindOrOwnerDoNotCoalesce) {
  Janus bench;
  bench.send(1);
  for (const auto& [kind, owner] : {std::pair{WriteKind::kLog, 0}, {WriteKind::kData, 1}}) {
    bench.backend->write({.line = kLine,
                          .kind = kind,
                          .owner = static_cast<std::uint64_t>(owner),
                          .data = data_of(2),
                          .persisted = {},
                          .written = {}});
  }
  bench.settle();
  EXPECT_EQ(bench.statistic("backend.coalesced"), 0);
}

// The prediction for the newer write is for a write of its own.
TEST(Coalescing, PredictedWritesDoNotCoalesce) {
  Janus bench;
  bench.prepare(kLine, 2);
  bench.settle();
  bench.send(1);  // takes what was prepared, of the line
  bench.prepare(kLine, 3);
  bench.send(3);
  bench.settle();
  EXPECT_EQ(bench.statistic("backend.coalesced"), 0);
  EXPECT_EQ(bench.backend->newest(kLine), data_of(3));
}

TEST(Coalescing, CoalescedWritesAreDroppedTogether) {
  Janus bench;
  bench.write(9);
  bench.send(1);
  const WriteId id = bench.send(2);
  EXPECT_TRUE(bench.backend->drop(id));
  EXPECT_FALSE(bench.backend->drop(id));
  bench.settle();
  EXPECT_TRUE(bench.persisted_at[bench.writes].empty());
  EXPECT_TRUE(bench.persisted_at[bench.writes - 1].empty());
  EXPECT_EQ(bench.backend->newest(kLine), data_of(9));
}

}  // namespace
}  // namespace pmemsim
