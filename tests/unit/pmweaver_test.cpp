// PMWeaver with backend operations: the times of predictions, the results that writes use, and the
// outcomes of predictions. Stores and flushes are made by hand.
#include "pmemsim/designs/precompute/pmweaver.hpp"
#include "pmemsim/designs/backend/backend.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "memory_bench.hpp"
#include "platform.hpp"

namespace pmemsim {
namespace {

// Encryption and integrity, whose metadata are cached: the tree needs the address alone.
constexpr Picoseconds kUnpredicted = ns(360), kMac = ns(40);
constexpr std::uint64_t kItems = kPmBase + 4096;
constexpr std::uint64_t kInDram = 0x5000;

using Values = std::vector<std::pair<std::string, std::string>>;

std::vector<Setting> weaver_settings(const Values& more) {
  Values all{{"core.count", "2"},
             {"backend", "encryption,integrity"},
             {"backend.units_per_core", "0"},
             {"precompute", "pmweaver"},
             {"pm.wpq_entries", "64"},
             {"pm.front_latency", "0ns"}};
  all.insert(all.end(), more.begin(), more.end());
  std::vector<Setting> settings;
  for (const auto& [key, value] : all) settings.push_back({key, value, "test"});
  return settings;
}

struct WeaverBench : Platform {
  explicit WeaverBench(const Values& more = {}) : Platform(configure(weaver_settings(more))) {
    for (std::uint64_t line = 0; line < 8; ++line) write({Line::of(kItems).number + line}, {});
    run();
    before = statistics();
  }

  // A store retires; if it is PM's, the caches have it.
  void store(std::uint64_t site, std::uint64_t address, std::uint64_t value, CoreId core = 0) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    design.stored({core, site, address, bytes}, queue.now());
    if (pm_space.contains(address)) pm_space.newest().write(address, bytes.data(), bytes.size());
  }
  // The line leaves the caches by a flush; how long its write takes.
  Picoseconds flush(Line line, CoreId core = 0) {
    const LineData data = pm_space.newest().read(line);
    design.written_back(core, line, data, WriteBack::kFlush, queue.now());
    return write(line, data);
  }
  // Stores that are the same each time, then an item's address and value, then the item.
  void announce(std::uint64_t address, std::uint64_t value, CoreId core = 0) {
    for (std::uint64_t i = 0; i < 32; ++i) store(300 + i, kInDram + 8 * i, 10'000 + i, core);
    store(201, kInDram + 512, address, core);
    store(202, kInDram + 520, value, core);
  }
  Picoseconds item(std::uint64_t address, std::uint64_t value, Picoseconds between,
                   CoreId core = 0) {
    announce(address, value, core);
    wait(between);
    store(203, address, value, core);
    return flush(Line::of(address), core);
  }

  Picoseconds write(Line line, const LineData& data) {
    const Time sent = queue.now();
    persisted = Time{-1};
    design.backend().write({.line = line,
                            .data = data,
                            .persisted = completion<&WeaverBench::note>(*this),
                            .written = {}});
    until([&] { return persisted != Time{-1}; });
    return persisted - sent;
  }
  void note(std::uint64_t, Time when) { persisted = when; }
  double count(const std::string& name) const {
    const auto found = statistics();
    EXPECT_TRUE(found.contains("pmweaver." + name)) << name;
    return found.at("pmweaver." + name) - before.at("pmweaver." + name);
  }

  Time persisted{};
  std::map<std::string, double> before;
};

const std::pair<std::string, std::string> kNoTimeout{"pmweaver.timeout_entries", "0"};
// Time from the last store that a prediction needs until it is in the result buffer.
constexpr Picoseconds kMade = ns(3 + 5);

TEST(PmWeaver, SecondWriteOfAStorePathTakesNoTime) {
  WeaverBench bench({kNoTimeout});
  EXPECT_EQ(bench.item(kItems, 5, ns(1000)), kUnpredicted);
  EXPECT_EQ(bench.count("learnt"), 1);
  EXPECT_EQ(bench.item(kItems + 64, 6, kMade + kUnpredicted), ns(0));
  EXPECT_EQ(bench.count("by_stores"), 1);
  EXPECT_EQ(bench.count("right_by_stores"), 1);
  EXPECT_EQ(bench.count("right_late"), 0);
  EXPECT_EQ(bench.count("early_ns"), (kUnpredicted + ns(5)).count / 1000);
  for (const std::string structure : {"table", "pending", "results"}) {
    EXPECT_EQ(bench.count(structure + ".hits"), 1) << structure;
    EXPECT_EQ(bench.count(structure + ".most"), 1) << structure;
  }
  EXPECT_EQ(bench.count("index.hits"), 2) << "the address's store, the value's";
}

TEST(PmWeaver, WritePredictedLateTakesTheRemainingTime) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000));
  EXPECT_EQ(bench.item(kItems + 64, 6, kMade + ns(100)), kUnpredicted - ns(100));
  EXPECT_EQ(bench.count("right_late"), 1);
}

TEST(PmWeaver, WriteBeforeItsPredictionTakesTheWholeTime) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000));
  EXPECT_EQ(bench.item(kItems + 64, 6, kMade - ns(1)), kUnpredicted);
}

TEST(PmWeaver, PredictionWithOtherDataCountsItsAddressAsRight) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  bench.wait(ns(1000));
  bench.store(203, kItems + 64, 7);
  EXPECT_EQ(bench.flush(Line::of(kItems + 64)), kMac)
      << "sub-operations that need the data are repeated";
  EXPECT_EQ(bench.count("address_right"), 1);
  EXPECT_EQ(bench.count("right_by_stores"), 0);
}

TEST(PmWeaver, UnpredictedBytesAreTakenFromTheCaches) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000));
  bench.store(400, kItems + 64 + 32, 99);  // another part of the line
  EXPECT_EQ(bench.item(kItems + 64, 6, ns(1000)), ns(0));
  EXPECT_EQ(bench.count("right_by_stores"), 1);
}

TEST(PmWeaver, OnlyTheAddressIsPredictedIfConfigured) {
  WeaverBench bench({kNoTimeout, {"pmweaver.predicted", "address"}});
  bench.item(kItems, 5, ns(1000));
  EXPECT_EQ(bench.item(kItems + 64, 6, ns(1000)), kMac);
  EXPECT_EQ(bench.count("address_right"), 1);
}

TEST(PmWeaver, EachCoreLearnsItsOwnPatterns) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000), 0);
  EXPECT_EQ(bench.item(kItems + 64, 6, ns(1000), 1), kUnpredicted);
  EXPECT_EQ(bench.item(kItems + 128, 7, ns(1000), 1), ns(0));
}

TEST(PmWeaver, FlushOfAnotherCoresStoreIsNotLearnt) {
  WeaverBench bench({kNoTimeout});
  bench.announce(kItems, 5, 0);
  bench.store(203, kItems, 5, 0);
  bench.flush(Line::of(kItems), 1);
  EXPECT_EQ(bench.count("write_backs"), 0);
}

TEST(PmWeaver, EvictionsAreNotLearnt) {
  WeaverBench bench({kNoTimeout});
  bench.announce(kItems, 5);
  bench.store(203, kItems, 5);
  bench.design.written_back(0, Line::of(kItems), {}, WriteBack::kEviction, bench.queue.now());
  bench.flush(Line::of(kItems));
  EXPECT_EQ(bench.count("write_backs"), 0);
}

TEST(PmWeaver, PredictedAddressOutsidePmIsDropped) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kInDram + 4096, 6);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("not_pm"), 1);
  EXPECT_EQ(bench.count("by_stores"), 0);
}

TEST(PmWeaver, LineWithoutStoresUntilTheTimeoutIsPredicted) {
  WeaverBench bench;
  bench.store(203, kItems, 5);
  bench.wait(ns(100));
  bench.store(204, kItems + 8, 6);
  bench.wait(ns(150 + 5) + kUnpredicted);
  EXPECT_EQ(bench.flush(Line::of(kItems)), ns(0));
  EXPECT_EQ(bench.count("by_timeout"), 1) << "counted from the last store";
  EXPECT_EQ(bench.count("right_by_timeout"), 1);
}

TEST(PmWeaver, LineWrittenBackBeforeTheTimeoutIsNotPredicted) {
  WeaverBench bench;
  bench.store(203, kItems, 5);
  bench.wait(ns(149));
  bench.flush(Line::of(kItems));
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("by_timeout"), 0);
}

TEST(PmWeaver, OldestPredictionOfALineIsReplaced) {
  WeaverBench bench({kNoTimeout, {"pmweaver.results_a_line", "2"}});
  bench.item(kItems, 5, ns(1000));
  for (std::uint64_t value = 1; value <= 3; ++value) {
    bench.announce(kItems + 64, value);
    bench.wait(ns(1000));
  }
  EXPECT_EQ(bench.count("results.displaced"), 1);
  EXPECT_EQ(bench.count("unused"), 1);
  bench.store(203, kItems + 64, 2);
  EXPECT_EQ(bench.flush(Line::of(kItems + 64)), ns(0)) << "the second one is there";
}

TEST(PmWeaver, UnusedPredictionsLowerTheConfidenceUntilTheyStop) {
  WeaverBench bench({kNoTimeout,
                     {"pmweaver.results_a_line", "1"},
                     {"pmweaver.result_lines", "1"},
                     {"core.count", "1"}});
  bench.item(kItems, 5, ns(1000));
  for (int i = 0; i < 20; ++i) {
    bench.announce(kItems + 64, 6);
    bench.wait(ns(1000));
  }
  EXPECT_EQ(bench.count("triggered"), 6) << "5 unused ones lower the confidence from 6 to 1";
  EXPECT_EQ(bench.count("unused"), 5);
}

// ---- What other writes change (V-C3)

const std::pair<std::string, std::string> kAtOnce{"backend.outdated_results", "at-once"};

TEST(PmWeaver, HashesOutdatedByAnotherWriteAreRecomputedAtOnce) {
  for (const bool at_once : {false, true}) {
    WeaverBench bench(at_once ? Values{kNoTimeout, kAtOnce} : Values{kNoTimeout});
    bench.item(kItems, 5, ns(1000));
    bench.announce(kItems + 64, 6);
    bench.wait(ns(1000));
    bench.write(Line::of(kItems + 128), data_of(9));  // in the same line of entries
    bench.wait(ns(1000));
    bench.store(203, kItems + 64, 6);
    EXPECT_EQ(bench.flush(Line::of(kItems + 64)), at_once ? ns(0) : kUnpredicted);
  }
}

// The write of another line, predicted or not, after a prediction for kItems + 64: how long that's
// own write takes.
Picoseconds after_another(const Values& settings, bool predicted) {
  WeaverBench bench(settings);
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  bench.wait(ns(1000));
  if (predicted) {
    EXPECT_EQ(bench.item(kItems + 128, 7, ns(1000)), ns(0));
  } else {
    bench.write(Line::of(kItems + 128), data_of(9));
  }
  bench.store(203, kItems + 64, 6);
  return bench.flush(Line::of(kItems + 64));
}

TEST(PmWeaver, PredictedWritesOutdateNothingIfConfigured) {
  const std::pair<std::string, std::string> unpredicted{"integrity.staleness", "unpredicted"};
  EXPECT_EQ(after_another({kNoTimeout, kAtOnce}, true), kUnpredicted) << "every write does";
  EXPECT_EQ(after_another({kNoTimeout, kAtOnce, unpredicted}, true), ns(0));
  EXPECT_EQ(after_another({kNoTimeout, kAtOnce, unpredicted}, false), kUnpredicted);
}

TEST(PmWeaver, DistantWriteOutdatesSharedLevelsOrAllHashes) {
  const auto far = [](const Values& more) {
    Values all{kNoTimeout};
    all.insert(all.end(), more.begin(), more.end());
    WeaverBench bench(all);
    const Line far_away{Line::of(kItems).number + 4 * 8 * 8};  // the leaf and two nodes are others
    bench.write(far_away, data_of(1));
    bench.item(kItems, 5, ns(1000));
    bench.announce(kItems + 64, 6);
    bench.wait(ns(1000));
    bench.write(far_away, data_of(2));
    bench.store(203, kItems + 64, 6);
    return bench.flush(Line::of(kItems + 64));
  };
  const Picoseconds all_hashes = far({{"integrity.staleness", "unpredicted-all-hashes"}});
  EXPECT_EQ(all_hashes, kUnpredicted);
  EXPECT_EQ(far({{"integrity.staleness", "unpredicted"}}), kUnpredicted - ns(120));
  EXPECT_EQ(far({{"integrity.staleness", "ignored"}}), ns(0));
}

TEST(PmWeaver, NothingIsOutdatedIfConfigured) {
  const std::pair<std::string, std::string> never{"backend.outdated_results", "never"};
  EXPECT_EQ(after_another({kNoTimeout, never}, false), ns(0));
}

TEST(PmWeaver, PredictionIsRestartedByAWriteOfItsLineBeforeIt) {
  WeaverBench bench({kNoTimeout, kAtOnce});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  bench.write(Line::of(kItems + 64), data_of(9));  // comes before the prediction does
  bench.wait(ns(100));
  bench.store(203, kItems + 64, 6);
  EXPECT_EQ(bench.flush(Line::of(kItems + 64)), kUnpredicted - ns(100));
}

TEST(PmWeaver, WriteWaitsForTheRestOfARecomputation) {
  WeaverBench bench({kNoTimeout, kAtOnce});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  bench.wait(ns(1000));
  bench.write(Line::of(kItems + 128), data_of(9));
  bench.wait(ns(100));
  bench.store(203, kItems + 64, 6);
  EXPECT_EQ(bench.flush(Line::of(kItems + 64)), kUnpredicted - ns(100));
}

TEST(PmWeaver, PredictionInProgressIsRecomputedAfterAnotherWrite) {
  WeaverBench bench({kNoTimeout, kAtOnce});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  const Picoseconds other = bench.write(Line::of(kItems + 128), data_of(9));  // begun together
  EXPECT_EQ(other, kUnpredicted);
  bench.wait(ns(1000));
  bench.store(203, kItems + 64, 6);
  EXPECT_EQ(bench.flush(Line::of(kItems + 64)), ns(0));
}

TEST(PmWeaver, PredictionSurvivesAWriteOfItsLineIfOutdatedAtOnce) {
  for (const bool at_once : {false, true}) {
    WeaverBench bench(at_once ? Values{kNoTimeout, kAtOnce} : Values{kNoTimeout});
    bench.item(kItems, 5, ns(1000));
    bench.announce(kItems + 64, 6);
    bench.announce(kItems + 64, 7);
    bench.wait(ns(1000));
    bench.store(203, kItems + 64, 6);
    EXPECT_EQ(bench.flush(Line::of(kItems + 64)), ns(0));
    bench.wait(ns(1000));
    bench.store(203, kItems + 64, 7);
    EXPECT_EQ(bench.flush(Line::of(kItems + 64)), at_once ? ns(0) : kUnpredicted);
    EXPECT_EQ(bench.count("changed"), at_once ? 0 : 1);
  }
}

TEST(PmWeaver, EndOfAThreadDiscardsItsPredictions) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  bench.design.thread_ended(0);
  bench.wait(ns(1000));
  bench.store(203, kItems + 64, 6);
  EXPECT_EQ(bench.flush(Line::of(kItems + 64)), kUnpredicted);
}

// ---- What is counted

TEST(PmWeaver, CountsWriteBacksByTheirDelay) {
  WeaverBench bench(Values{{"pmweaver.predicted", "nothing"}});
  bench.store(203, kItems, 5);
  bench.wait(ns(100));
  bench.flush(Line::of(kItems));
  bench.store(203, kItems, 5);
  bench.wait(ns(611));
  bench.flush(Line::of(kItems));
  EXPECT_EQ(bench.count("write_backs"), 2);
  EXPECT_EQ(bench.count("write_backs_within_50ns"), 0);
  EXPECT_EQ(bench.count("write_backs_within_100ns"), 1);
  EXPECT_EQ(bench.count("write_backs_within_610ns"), 1);
  EXPECT_EQ(bench.count("write_backs_within_1000ns"), 2);
  EXPECT_EQ(bench.count("by_timeout") + bench.count("right_by_timeout"), 1) << "made, not sent";
}

TEST(PmWeaver, CountsEarlyAndLatePredictions) {
  WeaverBench bench({kNoTimeout});
  bench.item(kItems, 5, ns(1000));
  bench.item(kItems + 64, 6, ns(3 + 49));  // right, 49 ns before
  bench.announce(kItems + 128, 7);
  bench.wait(ns(3 + 50));
  bench.store(203, kItems + 128, 8);
  bench.flush(Line::of(kItems + 128));  // its address was
  EXPECT_EQ(bench.count("early_ns"), 99);
  EXPECT_EQ(bench.count("right_early_ns"), 49);
  EXPECT_EQ(bench.count("known_late"), 1);
  EXPECT_EQ(bench.count("address_seen"), 2);
}

const std::pair<std::string, std::string> kArtifact{"pmweaver.variant", "artifact"};

// Stores to the first so many bytes of a line, 8 at a time.
void store_bytes(WeaverBench& bench, std::uint64_t line, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += 8) bench.store(203 + at, kItems + 64 * line + at, 5);
}

TEST(PmWeaver, ArtifactVariantPredictsLinesThatAreDisplaced) {
  WeaverBench bench({kArtifact, kAtOnce, {"pmweaver.timeout", "500ns"}});
  for (std::uint64_t line = 0; line < 5; ++line) bench.store(203, kItems + 64 * line, 5);
  EXPECT_EQ(bench.count("by_timeout"), 1) << "of four entries";
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("by_timeout"), 1) << "no store triggers a prediction";
  EXPECT_EQ(bench.flush(Line::of(kItems)), kMac) << "it has only the bytes that were stored";
  EXPECT_EQ(bench.count("address_only"), 1);
  EXPECT_EQ(bench.count("write_backs"), 0) << "what was stored to it is forgotten";
  bench.store(203, kItems + 64, 5);
  EXPECT_EQ(bench.count("by_timeout"), 5);
}

TEST(PmWeaver, ArtifactVariantPredictsDisplacedLinesIfAllBytesWereStored) {
  WeaverBench bench({kArtifact, kAtOnce});
  store_bytes(bench, 0, 64);
  for (std::uint64_t line = 1; line < 5; ++line) store_bytes(bench, line, 8);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.flush(Line::of(kItems)), ns(0));
  EXPECT_EQ(bench.count("right_by_timeout"), 1);
}

TEST(PmWeaver, ArtifactVariantChargesTheTimesOfTheOldestCandidate) {
  WeaverBench bench({kNoTimeout, kArtifact, kAtOnce});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.item(kItems + 64, 7, kMade), ns(0)) << "6 was predicted long ago";
  EXPECT_EQ(bench.count("right_by_stores"), 1);
  EXPECT_EQ(bench.count("unused"), 1) << "6 was erased";
  bench.wait(ns(100));
  bench.store(203, kItems + 64, 7);
  EXPECT_EQ(bench.flush(Line::of(kItems + 64)), kUnpredicted - kMade - ns(100))
      << "the candidate of 7 is the oldest now, and still has these data";
  EXPECT_EQ(bench.count("reused"), 1);
  EXPECT_EQ(bench.count("right_by_stores"), 1);
}

TEST(PmWeaver, ArtifactVariantKeepsCandidatesWithOtherData) {
  WeaverBench bench({kNoTimeout, kArtifact, kAtOnce});
  bench.item(kItems, 5, ns(1000));
  bench.announce(kItems + 64, 6);
  bench.wait(ns(1000));
  for (const std::uint64_t value : {8, 9}) {
    bench.store(203, kItems + 64, value);
    EXPECT_EQ(bench.flush(Line::of(kItems + 64)), kMac);
  }
  EXPECT_EQ(bench.count("address_only"), 2);
}

TEST(PmWeaver, ArtifactVariantRestartsAddressesAfterAnUnpredictedWrite) {
  const auto after_another_write = [](const Values& more) {
    Values all{kNoTimeout, kArtifact};
    all.insert(all.end(), more.begin(), more.end());
    WeaverBench bench(all);
    bench.item(kItems, 5, ns(1000));
    bench.announce(kItems + 64, 6);
    bench.wait(ns(1000));
    bench.design.backend().write(
        {.line = Line::of(kItems + 128), .data = data_of(9), .persisted = {}, .written = {}});
    bench.wait(ns(100));
    bench.store(203, kItems + 64, 6);
    return bench.flush(Line::of(kItems + 64));
  };
  EXPECT_EQ(after_another_write({kAtOnce}), kUnpredicted - ns(100));
  EXPECT_EQ(after_another_write({{"backend.outdated_results", "never"}}), ns(0));
}

TEST(PmWeaver, ArtifactVariantForgetsStoresOfItsOwnCore) {
  WeaverBench bench(Values{kArtifact, kAtOnce});
  const auto make_room = [&] {
    for (std::uint64_t line = 1; line < 5; ++line) bench.store(203, kItems + 64 * line, 5);
  };
  bench.store(203, kItems, 5, 0);
  bench.flush(Line::of(kItems), 1);  // core 0 still has it among its candidates
  make_room();
  bench.store(203, kItems, 5, 0);
  bench.store(203, kItems, 5, 1);
  make_room();
  bench.flush(Line::of(kItems), 1);
  EXPECT_EQ(bench.count("write_backs"), 1) << "what core 1 has stored is known";
}

}  // namespace
}  // namespace pmemsim
