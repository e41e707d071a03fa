// The hardware undo log: what it writes, what it holds back, and what recovery makes of a crash at
// every change of the persistent state.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "pmemsim/atomicity/hw_undo.hpp"
#include "pmemsim/atomicity/log_record.hpp"
#include "pmemsim/mem/memory_statistics.hpp"
#include "pmemsim/recovery/undo_log.hpp"
#include "pmemsim/sim/machine.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::MarkKind;
using trace::Purpose;
using trace::SiteKind;
using trace::TraceBuilder;

using Words = std::map<std::uint64_t, std::uint64_t>;  // address, value

TEST(LogHeader, StandsInALineByteForByte) {
  LogHeader header{3, 0x1234567890, 0x05, {}};
  for (std::uint32_t i = 0; i < kRecordEntries; ++i) header.homes[i] = Line{1000 + i};
  const LineData data = header.bytes();
  EXPECT_EQ(data[0], std::byte{0x05});
  EXPECT_EQ(data[1], std::byte{3});
  EXPECT_EQ(data[3], std::byte{0x90});
  const LogHeader read = LogHeader::of(data);
  EXPECT_EQ(read.core, 3u);
  EXPECT_EQ(read.region, 0x1234567890u);
  EXPECT_EQ(read.valid, 0x05);
  EXPECT_EQ(read.homes, header.homes);
}

TEST(LineTable, FindsAndForgets) {
  LineTable<int> table;
  for (int generation = 0; generation < 3; ++generation) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(table.find({i * 4096}), nullptr);
      table.insert({i * 4096}) = static_cast<int>(i);
    }
    for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(*table.find({i * 4096}), i);
    EXPECT_EQ(table.lines().size(), 1000u);
    table.clear();
  }
}

TEST(SequentialLog, IsARingThatGrows) {
  SequentialLog log(0, 3 * kRecordLines * kLineBytes);
  const std::uint64_t first = log.first().number;
  EXPECT_EQ(log.allocate().number, first);
  log.free_all();
  EXPECT_EQ(log.allocate().number, first + 8);
  EXPECT_EQ(log.allocate().number, first + 16);
  EXPECT_EQ(log.allocate().number, first);
  EXPECT_EQ(log.growths(), 0u);
  EXPECT_EQ(log.allocate().number, first + 24) << "what is in use stays";
  EXPECT_EQ(log.growths(), 1u);
}

// One thread, whose regions write random words of random lines, flush them and fence.
class Regions {
 public:
  Regions(std::uint32_t seed, int regions, std::uint64_t lines, std::uint32_t stores)
      : random_(seed) {
    builder.pm_region(kPmBase, kPmBase + (1 << 20));
    const auto store = builder.site(SiteKind::kStore, 8, 1);
    const auto clwb = detailed(FlushKind::kClwb, SiteKind::kFlush);
    const auto sfence = detailed(FenceKind::kSfence, SiteKind::kFence);
    states.push_back({});
    for (int region = 0; region < regions; ++region) {
      Words words = states.back();
      std::map<std::uint64_t, bool> touched;
      builder.mark(MarkKind::kRegionBegin, 1);
      for (std::uint32_t i = 0; i < 1 + random_() % stores; ++i) {
        const std::uint64_t address = kPmBase + random_() % lines * kLineBytes + random_() % 8 * 8;
        builder.store(store, address, words[address] = random_());
        touched[address / kLineBytes] = true;
      }
      purpose(Purpose::kDataFlush);
      for (const auto& [line, _] : touched) builder.access(clwb, line * kLineBytes);
      builder.plain(sfence);
      purpose(Purpose::kProgram);
      builder.mark(MarkKind::kRegionEnd, 1);
      states.push_back(words);
    }
  }

  TraceBuilder builder;
  std::vector<Words> states;  // after so many regions

 private:
  template <class Detail>
  std::uint32_t detailed(Detail detail, SiteKind kind) {
    return builder.site(kind, 0, 1, {}, {}, static_cast<std::uint8_t>(detail));
  }
  void purpose(Purpose purpose) {
    builder.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
  }
  std::mt19937_64 random_;
};

// Pulls the plug at every change of the persistent state, recovers, and looks at every word.
class Plug final : public PersistenceObserver {
 public:
  Plug(const Machine& machine, const HwUndo& design, const std::vector<Words>& states)
      : machine_(machine), design_(design), states_(states) {}

  void persisted(const Write&, Picoseconds) override { crash(); }
  void dropped(const Write&, Picoseconds) override { crash(); }

  int crashes = 0;
  int undone = 0;
  std::string problem;

 private:
  void crash() {
    ++crashes;
    Image image;
    machine_.pm().device().for_each_page([&](std::uint64_t address, const std::byte* page) {
      image.write(address, page, Image::kPageBytes);
    });
    machine_.pm().for_each_accepted(
        [](void* context, const Write& write) {
          static_cast<Image*>(context)->write(write.line, write.data);
        },
        &image);
    const std::vector<HwUndo::Survivor> survivors = design_.survivors();
    const Words before = words(image);
    recover_undo_log(survivors, image);
    const Words after = words(image);
    undone += before != after;
    recover_undo_log(survivors, image);
    if (words(image) != after) problem = "recovering twice is not recovering once";
    const Words& expected = states_[survivors[0].committed];
    for (const auto& [address, value] : after) {
      const auto found = expected.find(address);
      if (value == (found == expected.end() ? 0 : found->second)) continue;
      problem = "crash " + std::to_string(crashes) + ": the word at " + std::to_string(address) +
                " isn't that of region " + std::to_string(survivors[0].committed);
    }
  }
  // All words that the program ever writes.
  Words words(const Image& image) const {
    Words found;
    for (const auto& [address, _] : states_.back()) {
      const LineData data = image.read(Line::of(address));
      std::memcpy(&found[address], data.data() + address % kLineBytes, 8);
    }
    return found;
  }

  const Machine& machine_;
  const HwUndo& design_;
  const std::vector<Words>& states_;
};

class HwUndoCrash : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, HwUndoCrash, testing::Range(0, 8));

TEST_P(HwUndoCrash, LeavesWholeRegionsAtEveryPoint) {
  Regions program(static_cast<std::uint32_t>(GetParam()), 30, 24, 40);
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  // Small caches and queues, so that lines are evicted inside their regions and the log is written
  // out; a ring of four records, so that it wraps around and grows.
  const auto configuration = configure(settings({{"ordering", "x86"},
                                                 {"atomicity", "hw-undo"},
                                                 {"l1.size", "256B"},
                                                 {"l1.ways", "2"},
                                                 {"l2.size", "0B"},
                                                 {"shared.size", "512B"},
                                                 {"shared.size_per_core", "0B"},
                                                 {"shared.ways", "2"},
                                                 {"pm.wpq_entries", "8"},
                                                 {"pm.controllers", "2"},
                                                 {"log.ring_size", "4KiB"}}));
  Machine machine(configuration, file);
  const auto& design = dynamic_cast<const HwUndo&>(machine.atomicity());
  Plug plug(machine, design, program.states);
  machine.observe(&plug);
  ASSERT_TRUE(machine.run({}));
  EXPECT_EQ(plug.problem, "");
  EXPECT_GT(plug.crashes, 300);
  EXPECT_GT(plug.undone, 50);
  EXPECT_EQ(design.survivors()[0].committed, 30u);
}

TEST(HwUndo, CoversALineOnceAndDropsItsLog) {
  // Two lines, three stores, one region: two log entries, and nothing of the log reaches PM.
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  const auto clwb = builder.site(SiteKind::kFlush, 0, 1);
  const auto sfence = builder.site(SiteKind::kFence, 0, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase, 1);
  builder.store(store, kPmBase + 8, 2);
  builder.store(store, kPmBase + 64, 3);
  for (const std::uint64_t line : {0, 64}) builder.access(clwb, kPmBase + line);
  builder.plain(sfence);
  builder.mark(MarkKind::kRegionEnd, 1);
  const auto result = run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "hw-undo"}}));
  EXPECT_EQ(statistic(result, "hw_undo.entries"), 2);
  EXPECT_EQ(statistic(result, "hw_undo.dropped"), 2);
  EXPECT_EQ(statistic(result, "pm.log_bytes_written"), 0);
  EXPECT_EQ(statistic(result, "pm.data_bytes_written"), 128);
}

TEST(HwUndo, RefusesOrderingsWithoutFlushes) {
  for (const std::string_view ordering : {"none", "eadr"}) {
    try {
      configure(settings({{"ordering", ordering}, {"atomicity", "hw-undo"}}));
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("choose ordering=x86"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace pmemsim
