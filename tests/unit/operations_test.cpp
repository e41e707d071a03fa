// Runs and crashes of a machine whose backend operations change lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pmemsim/crash/crash.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::TraceBuilder;

template <class Operation>
ChoiceTable with_operation(std::string_view name) {
  ChoiceTable table = choices();
  table.push_back({.name = name,
                   .summary = "An operation of a test's own",
                   .make = [](const Blueprint&) -> std::unique_ptr<BackendOperation> {
                     return std::make_unique<Operation>();
                   }});
  return table;
}

// An operation that never ends.
class Endless final : public BackendOperation, public WriteGate {
 public:
  WriteGate* gate() override { return this; }
  bool write(const Write& write, const Prepared&, Completion) override {
    held_ += write.kind == WriteKind::kData;
    return write.kind != WriteKind::kData;
  }
  std::string pending() const override { return held_ == 0 ? "" : "data are worked on for ever"; }

 private:
  int held_ = 0;
};

// Stores every line elsewhere, with all bits changed. A line of kWrong is decoded to something
// else, and a line of kUnreadable can't be read.
class Displacing final : public BackendOperation {
 public:
  static constexpr std::byte kWrong{2}, kInstead{3}, kUnreadable{13};

  void encode(const Write& write, const Prepared&, Encoded& encoded) const override {
    encoded.place = moved(encoded.place);
    encoded.data = changed(write.data);
    if (write.data[0] == kWrong) encoded.data[0] = ~kInstead;
  }
  void accepted(const Write& write, const Encoded&) override { written_.insert(write.line); }
  Line place(Line line) const override { return written_.contains(line) ? moved(line) : line; }
  LineData decode(Line line, const LineData& data) const override {
    return written_.contains(line) ? changed(data) : data;
  }
  std::unique_ptr<ImageDecoder> decoder() const override { return std::make_unique<Decoder>(); }

 private:
  static constexpr std::uint64_t kFar = std::uint64_t{1} << 50;  // distance in lines
  struct Decoder final : ImageDecoder {
    void changed(Line place, const LineData& data, const Tell& tell) override {
      readable = data[0] != ~kUnreadable;
      tell({place.number - kFar}, Displacing::changed(data));
    }
    void registers_changed(const Tell&) override {}
    std::string problem() const override { return readable ? "" : "the line can't be decrypted"; }
    bool readable = true;
  };

  static Line moved(Line line) { return {line.number + kFar}; }
  static LineData changed(LineData data) {
    for (std::byte& byte : data) byte = ~byte;
    return data;
  }
  std::set<Line> written_;  // register
};

// Stores these values to one word, each with its flush and fence.
TraceBuilder durable_stores(const std::vector<std::uint64_t>& values,
                            std::uint64_t address = kPmBase) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t store = builder.site(SiteKind::kStore, 8, 1);
  const std::uint32_t clwb = builder.site(SiteKind::kFlush);
  const std::uint32_t sfence = builder.site(SiteKind::kFence);
  for (const std::uint64_t value : values) {
    builder.store(store, address, value);
    builder.access(clwb, address);
    builder.plain(sfence);
  }
  return builder;
}

CrashResult crash_with(const ChoiceTable& table, const std::vector<std::uint64_t>& values) {
  TraceBuilder builder = durable_stores(values);
  const TemporaryTrace temporary(builder);
  return crash(trace::TraceFile(temporary.path()),
               configure(settings({{"atomicity", "none"}, {"backend", table.back().name}}), table),
               {}, {});
}

std::string story_of(const CrashResult& result) {
  std::string all;
  for (const std::string& line : result.explanation.value_or(CrashExplanation{}).lines)
    all += line + "\n";
  return all;
}

TEST(Operations, ExplanationShowsDecodedWords) {
  const ChoiceTable table = with_operation<Displacing>("displacing");
  EXPECT_EQ(crash_with(table, {4, 5}).violations, 0);
  const std::string explanation = story_of(crash_with(table, {4, 2}));
  const std::size_t first =
      explanation.find("a write of the line becomes persistent; the word is 0x4");
  EXPECT_NE(first, std::string::npos) << explanation;
  EXPECT_NE(explanation.find("a write of the line becomes persistent; the word is 0x3", first),
            std::string::npos)
      << explanation;
}

TEST(Operations, ImageThatCannotBeDecodedMakesRecoveryGiveUp) {
  const CrashResult result = crash_with(with_operation<Displacing>("displacing"), {13, 4});
  EXPECT_EQ(result.points, 2u);
  EXPECT_EQ(result.violations, 1u) << "from the first write on until the second";
  ASSERT_TRUE(result.explanation);
  EXPECT_EQ(result.explanation->lines.back(), "recovery failed: the line can't be decrypted");
}

TEST(Operations, ImageOfARunIsDecoded) {
  TraceBuilder builder = durable_stores({4, 5});
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  const ChoiceTable table = with_operation<Displacing>("displacing");
  Machine machine(configure(settings({{"atomicity", "none"}, {"backend", "displacing"}}), table),
                  file);
  EXPECT_TRUE(machine.run({}));
  const Image image = machine.image(kPmBase, kPmBase + 4096);
  EXPECT_EQ(image.read(Line::of(kPmBase)), LineData{std::byte{5}});
  EXPECT_EQ(image.pages(), 1u);
  EXPECT_EQ(machine.pm().device().read(Line::of(kPmBase)), LineData{}) << "it stands elsewhere";
  EXPECT_EQ(machine.image(kPmBase + 4096, kPmBase + 8192).pages(), 0u);
}

// A line moves when its last write is on the device, which may be when all queues are drained.
TEST(Operations, RunWaitsForWritesThatDrainingTheQueuesCauses) {
  constexpr std::uint64_t kMoved = kPmBase + kLineBytes;  // before the gap
  TraceBuilder builder = durable_stores({4, 5}, kMoved);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(settings({{"atomicity", "none"},
                                      {"backend", "wear-leveling"},
                                      {"wear_leveling.region_lines", "2"},
                                      {"wear_leveling.writes_per_move", "2"}})),
                  file);
  EXPECT_TRUE(machine.run({}));
  EXPECT_EQ(machine.image(kPmBase, kPmBase + 4096).read(Line::of(kMoved)), LineData{std::byte{5}});
  StatisticsCollector collector;
  machine.design().statistics(collector);
  const auto moves = std::ranges::find(collector.found, "wear_leveling.moves", &Statistic::name);
  ASSERT_NE(moves, collector.found.end());
  EXPECT_EQ(moves->value, 1);
}

// A design that writes data only when the run is over.
TEST(Operations, WriteHeldForeverWhileDrainingIsReported) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(builder.site(SiteKind::kStore, 8, 1), kPmBase, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  const ChoiceTable table = with_operation<Endless>("endless");
  Machine machine(configure(settings({{"atomicity", "hw-redo"},
                                      {"hw_redo.in_place", "lazy"},
                                      {"backend", "endless"}}),
                            table),
                  file);
  try {
    machine.run({});
    ADD_FAILURE() << "the write is lost";
  } catch (const StuckError& error) {
    EXPECT_NE(std::string(error.what()).find("data are worked on for ever"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace pmemsim
