// Notifications of a precompute layer: hints and stores when they retire, write-backs when they
// leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::MarkKind;
using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

constexpr std::uint32_t kHintInstructions = 40;

class Recorder final : public Precompute {
 public:
  struct Notice {
    std::string what;
    CoreId core;
    std::uint64_t address, value;
    std::size_t bytes;
    std::uint64_t site;
    Time when;
  };

  std::uint32_t interests() const override { return kHints | kAllStores | kWriteBacks; }
  std::uint32_t hint_instructions() const override { return kHintInstructions; }
  void hint(CoreId core, const Hint& hint, Time when) override {
    note("hint", core, hint.address, hint.data, 0, when);
  }
  void stored(const RetiredStore& store, Time when) override {
    note("store", store.core, store.address, store.value, store.site, when);
  }
  void written_back(CoreId core, Line line, const LineData& data, WriteBack how,
                    Time when) override {
    constexpr std::string_view kHow[] = {"flush", "eviction", "sent"};
    note(std::string(kHow[static_cast<int>(how)]), core, line.address(), std::span(data).first(8),
         0, when);
  }
  std::vector<Notice> notices;

 private:
  void note(std::string what, CoreId core, std::uint64_t address, std::span<const std::byte> value,
            std::uint64_t site, Time when) {
    std::uint64_t first = 0;
    for (std::size_t i = std::min(value.size(), sizeof first); i > 0; --i) {
      first = first << 8 | std::to_integer<std::uint64_t>(value[i - 1]);
    }
    notices.push_back({std::move(what), core, address, first, value.size(), site, when});
  }
};

const ChoiceTable& with_recorder() {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = choices();
    table.push_back({.name = "recorder",
                     .summary = "Records its notifications",
                     .make = [](const Blueprint&) -> std::unique_ptr<Precompute> {
                       return std::make_unique<Recorder>();
                     }});
    return table;
  }();
  return kTable;
}

struct Recorded {
  std::vector<Recorder::Notice> notices;
  std::uint64_t instructions = 0;

  std::vector<Recorder::Notice> all(std::string_view what) const {
    std::vector<Recorder::Notice> found;
    for (const auto& one : notices) {
      if (one.what == what) found.push_back(one);
    }
    return found;
  }
};

Recorded run(TraceBuilder& builder, std::string_view atomicity = "none") {
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(settings({{"atomicity", atomicity},
                                      {"precompute", "recorder"},
                                      {"l1.size", "128B"},
                                      {"l1.ways", "2"},
                                      {"l2.size", "0B"},
                                      {"shared.size", "128B"},
                                      {"shared.size_per_core", "0B"},
                                      {"shared.ways", "2"}}),
                            with_recorder()),
                  file);
  EXPECT_TRUE(machine.run({}));
  Recorded run;
  run.notices = dynamic_cast<const Recorder&>(machine.design().precompute()).notices;
  for (const auto& core : machine.cores()) run.instructions += core->statistics().instructions;
  return run;
}

TEST(Precompute, HintsAreNotifiedWhenTheyRetireAndTakeTime) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 1);
  const std::uint32_t store = builder.site(SiteKind::kStore, 8, 1);
  builder.access(load, kPmBase + 512);  // a miss, before which nothing retires
  builder.mark(MarkKind::kHintData, 7, 8);
  builder.mark(MarkKind::kHint, kPmBase, 16);
  builder.mark(MarkKind::kHint, kPmBase + 64, 8);
  builder.store(store, kPmBase, 7);
  const Recorded result = run(builder);
  const auto hints = result.all("hint");
  ASSERT_EQ(hints.size(), 2u);
  EXPECT_EQ(hints[0].address, kPmBase);
  EXPECT_EQ(hints[0].value, 7u);
  EXPECT_EQ(hints[0].bytes, 16u);
  EXPECT_EQ(hints[1].bytes, 0u) << "no data of its own";
  EXPECT_GT(hints[0].when, Time{50'000}) << "the load's line comes from PM";
  EXPECT_GT(hints[1].when, hints[0].when);
  EXPECT_GT(result.all("store").at(0).when, hints[1].when);
  EXPECT_EQ(result.instructions, 2 + 2 * kHintInstructions);
}

TEST(Precompute, StoresAreNotifiedInWordsOfEightBytes) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t store = builder.site(SiteKind::kStore, 8, 1);
  const std::uint32_t wide = builder.site(SiteKind::kStore, 16, 1);
  const std::uint32_t update = builder.site(SiteKind::kAtomicUpdate, 8, 1);
  builder.store(store, kDramBase, 1);
  builder.store(wide, kPmBase + 56, 2);  // into the next line
  builder.atomic(update, kPmBase + 128, 0, 1, 3, true);
  builder.store(store, kDramBase + 8, 4);
  const auto stores = run(builder).all("store");
  ASSERT_EQ(stores.size(), 5u);
  EXPECT_EQ(stores[0].address, kDramBase);
  EXPECT_EQ(stores[1].address, kPmBase + 56);
  EXPECT_EQ(stores[2].address, kPmBase + 64);
  EXPECT_EQ(stores[1].bytes, 8u);
  EXPECT_EQ(stores[2].bytes, 8u);
  EXPECT_EQ(stores[1].site, piece_site(wide, 0));
  EXPECT_EQ(stores[2].site, piece_site(wide, 1));
  EXPECT_EQ(stores[3].value, 3u) << "a locked instruction";
  EXPECT_EQ(stores[4].site, stores[0].site);
}

// A store across two lines has an incomplete word in each.
TEST(Precompute, WordsOfAStoreAreDistinguished) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t wide = builder.site(SiteKind::kStore, 16, 1);
  for (int i = 0; i < 2; ++i) builder.store(wide, kPmBase + 60, 2);
  const auto stores = run(builder).all("store");
  ASSERT_EQ(stores.size(), 6u);
  const std::size_t bytes[] = {4, 8, 4};
  for (std::uint32_t segment = 0; segment < 3; ++segment) {
    EXPECT_EQ(stores[segment].bytes, bytes[segment]);
    EXPECT_EQ(stores[segment].site, piece_site(wide, segment));
    EXPECT_EQ(stores[segment + 3].site, stores[segment].site) << "whenever it is executed";
  }
}

// The words of few sites use all entries of a table that is indexed by some bits of the hash.
TEST(Precompute, HashSpreadsSitesAndWordsOverTheTable) {
  constexpr std::uint64_t kEntries = 256;
  for (const unsigned shift : {0u, 24u, 56u}) {
    std::set<std::uint64_t> entries;
    for (std::uint32_t site = 0; site < 64; ++site) {
      for (std::uint32_t segment = 0; segment < 8; ++segment) {
        entries.insert((piece_site(site, segment) >> shift) % kEntries);
      }
    }
    // 1 - exp(-2) of them, if at random.
    EXPECT_GT(entries.size(), kEntries * 8 / 10) << "from bit " << shift;
  }
}

// One core after the other, so that neither evicts what is the other's.
TEST(Precompute, FlushesAndEvictionsAreDistinguished) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t store = builder.site(SiteKind::kStore, 8, 1);
  const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 1);
  const std::uint32_t clwb =
      builder.site(SiteKind::kFlush, 0, 1, {}, {}, static_cast<std::uint8_t>(FlushKind::kClwb));
  const std::uint32_t mfence =
      builder.site(SiteKind::kFence, 0, 1, {}, {}, static_cast<std::uint8_t>(FenceKind::kMfence));
  const auto lines_of = [](std::uint32_t core) { return kPmBase + core * 1024; };
  for (const std::uint32_t core : {0u, 1u}) {
    builder.thread(core);
    if (core == 1) builder.sync(SyncKind::kWait, 0, 0, 1);
    builder.store(store, lines_of(core), 1);
    builder.access(clwb, lines_of(core));
    builder.store(store, lines_of(core) + 64, 2);
    builder.plain(mfence);  // before the loads that evict it
    for (std::uint64_t line = 2; line < 8; ++line) builder.access(load, lines_of(core) + line * 64);
    if (core == 0) builder.sync(SyncKind::kSignal, 0, 0, 1);
  }
  const Recorded result = run(builder);
  const auto flushes = result.all("flush"), evictions = result.all("eviction");
  ASSERT_EQ(flushes.size(), 2u);
  ASSERT_EQ(evictions.size(), 2u);
  for (const std::uint32_t core : {0u, 1u}) {
    EXPECT_EQ(flushes[core].address, lines_of(core));
    EXPECT_EQ(flushes[core].value, 1u);
    EXPECT_EQ(flushes[core].core, core);
    EXPECT_EQ(evictions[core].address, lines_of(core) + 64);
    EXPECT_EQ(evictions[core].value, 2u);
    EXPECT_EQ(evictions[core].core, core);
  }
}

// Each design sends the lines of its regions by a way of its own.
TEST(Precompute, LinesThatTheDesignSendsPastTheCachesAreNotified) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t store = builder.site(SiteKind::kStore, 8, 1);
  builder.external(1);
  builder.thread(1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase, 1);
  builder.store(store, kPmBase + 8, 2);
  builder.mark(MarkKind::kRegionEnd, 1);
  for (const std::string_view atomicity : {"asap", "lad", "hw-redo"}) {
    const auto sent = run(builder, atomicity).all("sent");
    ASSERT_EQ(sent.size(), 1u) << atomicity;
    EXPECT_EQ(sent[0].core, 1u);
    EXPECT_EQ(sent[0].address, kPmBase);
    EXPECT_EQ(sent[0].value, 1u);
  }
}

}  // namespace
}  // namespace pmemsim
