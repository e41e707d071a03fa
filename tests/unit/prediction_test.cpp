// Operations that start before their write arrives: the time saved, to the picosecond, the results
// that a write may use, and the outcome of each prediction.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "long_tests.hpp"
#include "memory_bench.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "preparing_backend.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

constexpr Line kLine = line_in(0, 0), kOther = line_in(1, 0);
// Latency of a write without prepared results: max(line, data) + both.
constexpr Picoseconds kLineTime = ns(200), kDataTime = ns(100), kBothTime = ns(50);
constexpr Picoseconds kAll = kLineTime + kBothTime;

// An operation, and an observer that predicts.
class Predictions : public MemoryBench, public PredictionObserver {
 public:
  explicit Predictions(const ResultBufferSize& size = {.entries = 8}, bool operation = true)
      : MemoryBench(simple_memory()) {
    BackendParts::Operations operations;
    if (operation) {
      operations.push_back(std::make_unique<PreparingOperation>(
          PreparingOperation::Times{kLineTime, kDataTime, kBothTime}));
      graph = static_cast<PreparingOperation*>(operations.front().get());
    }
    backend = std::make_unique<Backend>(queue, memory, std::move(operations), ns(0));
    backend->predictions().configure(size, *this);
  }

  PreparedId prepare(std::optional<Line> line, std::optional<std::uint64_t> value,
                     ByteMask bytes = kWholeLine, CoreId core = 0) {
    return backend->predictions().prepare({.core = core,
                                           .number = ++number,
                                           .line = line,
                                           .data = data_of(value.value_or(0)),
                                           .bytes = value ? bytes : 0});
  }
  // Writes, waits for it, and says how long it has taken.
  Picoseconds write(std::uint64_t value, Line line = kLine, ByteMask bytes = kWholeLine) {
    const Time sent = queue.now();
    send(value, line, bytes);
    while (persisted_at[writes].empty()) {
      EXPECT_TRUE(queue.step());
    }
    return persisted_at[writes].front() - sent;
  }
  WriteId send(std::uint64_t value, Line line = kLine, ByteMask bytes = kWholeLine) {
    return backend->write({.line = line,
                           .owner = ++writes,
                           .data = data_of(value),
                           .persisted = completion<&Predictions::note>(*this, writes),
                           .written = {},
                           .bytes = bytes});
  }
  void outcome(const Outcome& outcome) override { outcomes.push_back(outcome); }
  void note(std::uint64_t write, Time when) { persisted_at[write].push_back(when); }

  // Returns the only outcome so far.
  const Outcome& only_outcome() const {
    EXPECT_EQ(outcomes.size(), 1u);
    return outcomes.at(0);
  }

  std::unique_ptr<Backend> backend;
  PreparingOperation* graph = nullptr;
  std::vector<Outcome> outcomes;
  std::uint64_t number = 0, writes = 0;
};

// ---- What it saves

TEST(Prediction, WriteWithoutAPredictionTakesTheWholeTime) {
  Predictions bench;
  EXPECT_EQ(bench.write(1), kAll);
  EXPECT_TRUE(bench.outcomes.empty());
}

TEST(Prediction, FinishedLineAndDataPredictionSavesTheWholeTime) {
  Predictions bench;
  const PreparedId id = bench.prepare(kLine, 1, kWholeLine, 3);
  bench.run_until(Time{} + kAll);
  EXPECT_EQ(bench.write(1), ns(0));
  EXPECT_EQ(bench.only_outcome().id, id);
  EXPECT_EQ(bench.only_outcome().core, 3u);
  EXPECT_EQ(bench.only_outcome().number, 1u);
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
  EXPECT_EQ(bench.only_outcome().when, Time{} + kAll);
  EXPECT_EQ(bench.only_outcome().differing, 0u);
  EXPECT_FALSE(bench.only_outcome().late);
  EXPECT_EQ(bench.graph->results(), 0u);
  EXPECT_EQ(bench.write(1), kAll) << "used once";
}

TEST(Prediction, UnfinishedPredictionSavesTheTimeSpent) {
  Predictions bench;
  bench.prepare(kLine, 1);
  bench.run_until(Time{} + kAll - ns(1));
  EXPECT_EQ(bench.write(1), ns(1));
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
  EXPECT_TRUE(bench.only_outcome().late);
}

TEST(Prediction, LinePredictionSavesLineSubOperations) {
  Predictions bench;
  bench.prepare(kLine, {});
  bench.run_until(at_ns(50));
  // The line's part is done at 200, the data's at 150.
  EXPECT_EQ(bench.write(1), ns(200 + 50 - 50));
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsedInPart);
  EXPECT_EQ(bench.only_outcome().differing, 0u);
  bench.prepare(kLine, {});
  bench.run_until(at_ns(1000));
  EXPECT_EQ(bench.write(1), kDataTime + kBothTime);
}

TEST(Prediction, DataPredictionIsUsedOnceItsLineIsKnown) {
  Predictions bench;
  const PreparedId id = bench.prepare({}, 1);
  bench.run_until(at_ns(150));
  EXPECT_EQ(bench.write(1), kAll) << "the prediction has no line yet";
  EXPECT_TRUE(bench.outcomes.empty());
  EXPECT_TRUE(
      bench.backend->predictions().complete(id, kLine));  // at 400: both parts are done at 600
  bench.run_until(at_ns(500));
  EXPECT_EQ(bench.write(1), ns(150));
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
  EXPECT_FALSE(bench.backend->predictions().complete(id, data_of(2), kWholeLine));
}

TEST(Prediction, LinePredictionIsUsedFullyOnceItsDataAreKnown) {
  Predictions bench;
  const PreparedId id = bench.prepare(kLine, 1, bytes_from(0, 8));
  bench.run_until(at_ns(180));
  EXPECT_TRUE(bench.backend->predictions().complete(id, data_of(1), ~bytes_from(0, 8)));
  bench.run_until(at_ns(300));
  EXPECT_EQ(bench.write(1), ns(30)) << "180 + 100 for the data, 50 for both";
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
}

TEST(Prediction, PredictionWithOtherDataSavesLineSubOperations) {
  Predictions bench;
  bench.prepare(kLine, 0x0201);
  bench.run_until(Time{} + kAll);
  EXPECT_EQ(bench.write(0x0301), kDataTime + kBothTime);
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsedInPart);
  EXPECT_EQ(bench.only_outcome().differing, 1u << 1);
  EXPECT_FALSE(bench.only_outcome().late);
}

TEST(Prediction, ReplacedBytesRestartTheDataSubOperations) {
  Predictions bench;
  const PreparedId id = bench.prepare(kLine, 1);
  bench.run_until(at_ns(300));
  bench.backend->predictions().complete(id, data_of(2), bytes_from(0, 1));
  bench.run_until(at_ns(440));
  EXPECT_EQ(bench.write(2), ns(10)) << "300 + 100 for the data, 50 for both";
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
  bench.backend->predictions().complete(bench.prepare(kLine, 1), data_of(2), bytes_from(0, 1));
  bench.run_until(at_ns(1000));
  EXPECT_EQ(bench.write(1), kDataTime + kBothTime) << "not that of the old ones";
}

TEST(Prediction, PredictionOfAnotherLineIsNotUsed) {
  Predictions bench;
  bench.prepare(kOther, 1);
  bench.run_until(Time{} + kAll);
  EXPECT_EQ(bench.write(1), kAll);
  EXPECT_TRUE(bench.outcomes.empty());
}

TEST(Prediction, PredictionWithTheWritesDataIsPreferredThenTheOldest) {
  for (const std::uint64_t value : {1, 9}) {
    Predictions bench;
    for (const std::uint64_t predicted : {7, 1, 1, 8}) bench.prepare(kLine, predicted);
    bench.prepare(kLine, {});
    bench.prepare(kOther, value);
    bench.send(value);
    EXPECT_EQ(bench.only_outcome().fate, value == 1 ? Fate::kUsed : Fate::kUsedInPart);
    EXPECT_EQ(bench.only_outcome().number, value == 1 ? 3u : 1u);
  }
}

TEST(Prediction, PartialWriteIsComparedAsAWholeLine) {
  Predictions bench;
  bench.write(0x0101);
  bench.prepare(kLine, 0x0102);
  bench.run_until(at_ns(1000));
  EXPECT_EQ(bench.write(0xee02, kLine, bytes_from(0, 1)), ns(0));
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
}

TEST(Prediction, PredictionIsNotUsedForDataThatADropHasChanged) {
  Predictions bench;
  const WriteId dropped = bench.send(0x0100, kLine, bytes_from(1, 1));
  bench.prepare(kLine, 0x0102);
  bench.send(0x0002, kLine, bytes_from(0, 1));
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
  EXPECT_TRUE(bench.backend->drop(dropped));
  bench.run();
  const std::unique_ptr<ImageDecoder> decoder = bench.backend->parts().decoder();
  LineData read{};
  const auto tell = [&](Line line, const LineData& data) {
    if (line == kLine) read = data;
  };
  bench.memory.for_each_accepted(
      [](void* context, const Write& write) {
        const auto& [to, with] =
            *static_cast<std::pair<ImageDecoder*, ImageDecoder::Tell>*>(context);
        to->changed(write.line, write.data, with);
      },
      std::make_unique<std::pair<ImageDecoder*, ImageDecoder::Tell>>(decoder.get(), tell).get());
  EXPECT_EQ(value_of(read), 2u);
}

// ---- What becomes of those that nothing is written for

TEST(Prediction, PredictionIsRejectedWhileAllEntriesAreTaken) {
  Predictions bench({.entries = 2});
  const PreparedId first = bench.prepare(kLine, 1);
  const PreparedId second = bench.prepare(kOther, 1);
  EXPECT_NE(first, second);
  EXPECT_FALSE(bench.prepare(kLine, 1));
  EXPECT_TRUE(bench.backend->predictions().discard(second));
  EXPECT_TRUE(bench.prepare(kLine, 2));
  bench.send(1);
  EXPECT_TRUE(bench.prepare(kLine, 3)) << "a claimed entry is free";
  EXPECT_EQ(bench.outcomes.size(), 2u) << "rejected predictions have no outcome";
}

TEST(Prediction, PredictionIsRejectedWithoutAnOperation) {
  Predictions bench({.entries = 2}, false);
  EXPECT_FALSE(bench.prepare(kLine, 1));
  EXPECT_EQ(bench.write(1), ns(0));
}

class DiscardedPrediction : public testing::TestWithParam<Fate> {
 protected:
  static void discard(Predictions& bench, PreparedId id) {
    switch (GetParam()) {
      case Fate::kTakenBack:
        EXPECT_TRUE(bench.backend->predictions().discard(id));
        EXPECT_FALSE(bench.backend->predictions().discard(id));
        break;
      case Fate::kThreadEnded:
        bench.backend->predictions().discard_thread(4);
        EXPECT_TRUE(bench.outcomes.empty());
        bench.backend->predictions().discard_thread(5);
        break;
      case Fate::kRangeDiscarded:
        bench.backend->predictions().discard_range({kLine.number + 1}, {kLine.number + 9},
                                                   Fate::kRangeDiscarded);
        bench.backend->predictions().discard_range({0}, kLine, Fate::kRangeDiscarded);
        EXPECT_TRUE(bench.outcomes.empty());
        bench.backend->predictions().discard_range(kLine, {kLine.number + 1},
                                                   Fate::kRangeDiscarded);
        break;
      case Fate::kMetadataChanged:
        bench.backend->metadata_changed(kOther);
        EXPECT_TRUE(bench.outcomes.empty());
        bench.backend->metadata_changed(kLine);
        break;
      default:
        bench.backend->predictions().discard_all();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Fates, DiscardedPrediction,
                         testing::Values(Fate::kTakenBack, Fate::kThreadEnded,
                                         Fate::kRangeDiscarded, Fate::kMetadataChanged,
                                         Fate::kRunEnded));

TEST_P(DiscardedPrediction, PredictionIsNotUsed) {
  Predictions bench;
  const PreparedId id = bench.prepare(kLine, 1, kWholeLine, 5);
  bench.run_until(at_ns(400));
  discard(bench, id);
  EXPECT_EQ(bench.only_outcome().id, id);
  EXPECT_EQ(bench.only_outcome().fate, GetParam());
  EXPECT_EQ(bench.only_outcome().when, at_ns(400));
  EXPECT_EQ(bench.graph->results(), 0u);
  EXPECT_FALSE(bench.backend->predictions().complete(id, data_of(1), kWholeLine));
  EXPECT_EQ(bench.write(1), kAll);
  EXPECT_EQ(bench.outcomes.size(), 1u);
}

TEST(Prediction, DataPredictionIsNotDiscardedByAddress) {
  Predictions bench;
  bench.prepare({}, 1);
  bench.backend->predictions().discard_range({0}, {UINT64_MAX}, Fate::kRangeDiscarded);
  EXPECT_TRUE(bench.outcomes.empty());
  bench.backend->predictions().discard_thread(0);
  EXPECT_EQ(bench.only_outcome().fate, Fate::kThreadEnded);
}

TEST(Prediction, TooOldPredictionIsNotUsed) {
  for (const bool one_earlier : {true, false}) {
    Predictions bench({.entries = 1, .most_age = ns(500)});
    bench.run_until(at_ns(100));
    const PreparedId id = bench.prepare(kLine, 1, bytes_from(0, 8));
    bench.run_until(at_ns(400));
    bench.backend->predictions().complete(id, data_of(1), kWholeLine);  // doesn't make it younger
    bench.run_until(one_earlier ? Time{599'999} : at_ns(600));
    EXPECT_EQ(bench.write(1), one_earlier ? ns(0) : kAll);
    EXPECT_EQ(bench.only_outcome().fate, one_earlier ? Fate::kUsed : Fate::kTooOld);
    EXPECT_EQ(bench.only_outcome().when, one_earlier ? Time{599'999} : at_ns(600));
  }
}

TEST(Prediction, TooOldPredictionReleasesItsEntry) {
  Predictions bench({.entries = 1, .most_age = ns(500)});
  bench.prepare(kLine, 1);
  bench.run_until(at_ns(800));
  EXPECT_TRUE(bench.outcomes.empty());
  EXPECT_TRUE(bench.prepare(kLine, 1));
  EXPECT_EQ(bench.only_outcome().when, at_ns(500));
}

// ---- What a write has claimed

TEST(Prediction, ClaimedPredictionIsLostWithADroppedWrite) {
  Predictions bench;
  bench.prepare(kLine, 1);
  const WriteId id = bench.send(1);
  EXPECT_EQ(bench.only_outcome().fate, Fate::kUsed);
  EXPECT_TRUE(bench.only_outcome().late);
  EXPECT_EQ(bench.graph->results(), 1u);
  EXPECT_TRUE(bench.backend->drop(id));
  EXPECT_EQ(bench.graph->results(), 0u);
  EXPECT_EQ(bench.write(1), kAll);
}

// The metadata of a line change with each of its writes, and with them what was worked out for the
// next one.
TEST(Prediction, PredictionIsDiscardedByAnotherWriteOfItsLine) {
  Predictions bench;
  bench.prepare(kLine, 1);
  bench.prepare(kLine, 2);
  bench.prepare(kOther, 2);
  bench.run_until(Time{} + kAll);
  EXPECT_EQ(bench.write(1), ns(0));
  ASSERT_EQ(bench.outcomes.size(), 2u);
  EXPECT_EQ(bench.outcomes[1].fate, Fate::kMetadataChanged);
  EXPECT_EQ(bench.write(2), kAll);
  EXPECT_EQ(bench.write(2, kOther), ns(0));
}

TEST(Prediction, PredictionClaimedByAHeldWriteIsDiscardedByAnEarlierWrite) {
  Predictions bench;
  bench.send(1);
  bench.run_until(at_ns(100));
  bench.prepare(kLine, 2);
  bench.send(2);
  EXPECT_EQ(bench.graph->results(), 1u);
  bench.run_until(Time{} + kAll);  // the first is accepted, the second still worked on
  EXPECT_EQ(bench.graph->results(), 0u);
}

// ---- Whatever happens, each prediction has one outcome, and the operations keep nothing

class RandomPredictions : public testing::TestWithParam<std::uint64_t> {};
// The long form has 60 seeds instead of 10.
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPredictions, seeds<std::uint64_t>(1, 10, 60));

TEST_P(RandomPredictions, EachHasExactlyOneOutcome) {
  Predictions bench({.entries = 4, .most_age = ns(2000)});
  std::mt19937_64 random(GetParam());
  std::vector<PreparedId> prepared;
  std::vector<bool> has_line;
  std::vector<WriteId> written;
  const auto some_line = [&] { return Line{random() % 4}; };
  const auto some_core = [&] { return static_cast<CoreId>(random() % 3); };
  for (int i = 0; i < 2000; ++i) {
    const std::size_t one = prepared.empty() ? 0 : random() % prepared.size();
    switch (random() % 12) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const bool line = random() % 4 > 0;
        const PreparedId id =
            bench.prepare(line ? std::optional(some_line()) : std::nullopt, random() % 3,
                          random() % 2 == 0 ? kWholeLine : random(), some_core());
        if (!id) break;
        prepared.push_back(id);
        has_line.push_back(line);
        break;
      }
      case 4:
        if (prepared.empty()) break;
        if (has_line[one]) {
          bench.backend->predictions().complete(prepared[one], data_of(random() % 3), kWholeLine);
        } else {
          bench.backend->predictions().complete(prepared[one], some_line());
          has_line[one] = true;
        }
        break;
      case 5:
        if (!prepared.empty()) bench.backend->predictions().discard(prepared[one]);
        break;
      case 6:
        if (random() % 8 == 0) bench.backend->predictions().discard_thread(some_core());
        break;
      case 7:
        if (random() % 8 == 0)
          bench.backend->predictions().discard_range(some_line(), some_line(),
                                                     Fate::kRangeDiscarded);
        break;
      case 8:
        if (!written.empty()) bench.backend->drop(written[random() % written.size()]);
        break;
      case 9:
        bench.run_until(bench.queue.now() +
                        Picoseconds{static_cast<std::int64_t>(random() % 300'000)});
        break;
      default:
        written.push_back(bench.send(random() % 3, some_line()));
    }
  }
  bench.run();
  bench.backend->predictions().discard_all();
  std::map<PreparedId, int> outcomes;
  for (const Outcome& outcome : bench.outcomes) ++outcomes[outcome.id];
  ASSERT_EQ(outcomes.size(), prepared.size());
  for (const PreparedId id : prepared) EXPECT_EQ(outcomes[id], 1);
  EXPECT_EQ(bench.graph->results(), 0u);
  EXPECT_EQ(bench.backend->pending(), "");
}

// Predicts a write that never arrives for each hint.
class Hopeful final : public Precompute {
 public:
  void connect(const LayerContext& context) override { pm_ = &context.pm; }
  ResultBufferSize result_buffer() const override { return {.entries = 4}; }
  std::uint32_t interests() const override { return kHints; }
  void hint(CoreId core, const Hint&, Time) override {
    pm_->predictions().prepare({.core = core, .number = 1, .line = kLine, .data = {}, .bytes = 0});
  }
  void outcome(const Outcome& outcome) override { outcomes.push_back(outcome); }
  std::vector<Outcome> outcomes;

 private:
  Backend* pm_ = nullptr;
};

TEST(Prediction, EndOfAThreadDiscardsItsPredictions) {
  ChoiceTable table = with_doubles();
  table.push_back({.name = "hopeful",
                   .summary = "Expects what never comes",
                   .gives = {"predictions"},
                   .make = [](const Blueprint&) -> std::unique_ptr<Precompute> {
                     return std::make_unique<Hopeful>();
                   }});
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    builder.thread(thread);
    builder.mark(trace::MarkKind::kHint, kPmBase, kLineBytes);
    builder.external(4000 * (1 + thread));
  }
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(settings({{"ordering", "x86"},
                                      {"atomicity", "none"},
                                      {"backend", "preparing"},
                                      {"precompute", "hopeful"}}),
                            table),
                  file);
  EXPECT_TRUE(machine.run({}));
  const auto& outcomes = dynamic_cast<const Hopeful&>(machine.design().precompute()).outcomes;
  ASSERT_EQ(outcomes.size(), 2u);
  for (CoreId thread = 0; thread < 2; ++thread) {
    EXPECT_EQ(outcomes[thread].core, thread);
    EXPECT_EQ(outcomes[thread].fate, Fate::kThreadEnded);
  }
}

}  // namespace
}  // namespace pmemsim
