// The hardware undo log: the writes that it makes, the writes that it delays, and recovery from a
// crash at every change of the persistent state.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "long_tests.hpp"
#include "pmemsim/designs/atomicity/hw_undo.hpp"
#include "pmemsim/designs/atomicity/hw_undo_recovery.hpp"
#include "pmemsim/designs/atomicity/log_record.hpp"
#include "shared_regions.hpp"
#include "unit/crash_probe.hpp"
#include "unit/memory_bench.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::TraceBuilder;

TEST(LogHeader, HeaderRoundTripsThroughALine) {
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
  EXPECT_EQ(read, header);
}

TEST(LogHeader, TornHeaderIsInvalid) {
  LogHeader before{3, 6, 0x7f, {}, 40, 1}, after{3, 7, 0x3f, {}, 41, 2};
  for (std::uint32_t i = 0; i < kRecordEntries; ++i) {
    before.homes[i] = Line{1000 + i};
    after.homes[i] = Line{2000 + 3 * i};
  }
  for (unsigned there = 1; there < 0xff; ++there) {
    LineData torn = before.bytes();
    for (std::size_t word = 0; word < 8; ++word) {
      if ((there >> word & 1) == 0) continue;
      std::copy_n(after.bytes().data() + word * 8, 8, torn.data() + word * 8);
    }
    EXPECT_EQ(LogHeader::of(torn).valid, 0) << "words " << there;
  }
}

TEST(LogLinks, TornLinksAreInvalid) {
  const LogHeader header{3, 7, 0x3f, {}};
  LogLinks before, after;
  for (std::uint32_t i = 0; i < kRecordEntries; ++i) {
    before.entries[i] = Line{kLogBase / kLineBytes + 1000 + i};
    after.entries[i] = Line{kLogBase / kLineBytes + 2000 + 3 * i};
  }
  after.previous = Line{kLogBase / kLineBytes + 40};
  EXPECT_EQ(LogLinks::of(after.bytes(header), header)->entries, after.entries);
  EXPECT_EQ(LogLinks::of(after.bytes(header), header)->previous, after.previous);
  EXPECT_FALSE(LogLinks::of(after.bytes(header), LogHeader{3, 8, 0x3f, {}}));
  for (unsigned there = 1; there < 0xff; ++there) {
    LineData torn = before.bytes(LogHeader{3, 6, 0x7f, {}});
    for (std::size_t word = 0; word < 8; ++word) {
      if ((there >> word & 1) == 0) continue;
      std::copy_n(after.bytes(header).data() + word * 8, 8, torn.data() + word * 8);
    }
    EXPECT_FALSE(LogLinks::of(torn, header)) << "words " << there;
  }
}

// The header is still in the buffer, so its location decides which ring it belongs to.
TEST(RingReader, LastRecordOfARingIsRead) {
  const Line home = Line::of(kPmBase), ring{kLogBase / kLineBytes};
  const Line place{ring.number + kRecordLines};
  Image image;
  image.write(home, data_of(2));
  image.write({place.number + 1}, data_of(1));
  const LogHeader header{.core = 0, .region = 1, .valid = 1, .homes = {home}};
  HwUndo::Survivors survivors{{0}, {}};
  survivors.log.rings = {{ring, 2 * kRecordLines}};
  survivors.log.headers = {{place, header.bytes()}};
  recover_undo_log(survivors, image);
  EXPECT_EQ(image.read(home), data_of(1));
}

TEST(LineTable, InsertedLinesAreFoundUntilCleared) {
  LineTable<int> table;
  for (int generation = 0; generation < 3; ++generation) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(table.find({i * 4096}), nullptr);
      table.insert({i * 4096}) = static_cast<int>(i);
    }
    for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(*table.find({i * 4096}), i);
    EXPECT_EQ(table.find({1}), nullptr);
    table.clear();
  }
}

TEST(LineMap, ValuesKeepTheirAddressWhileOthersAreInsertedAndErased) {
  LineMap<std::uint64_t> map;
  std::map<std::uint64_t, std::uint64_t*> expected;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t line = random() % 300;  // a small range, so that lines collide
    const auto found = expected.find(line);
    ASSERT_EQ(map.contains({line}), found != expected.end());
    if (found == expected.end()) {
      EXPECT_EQ(map[{line}], 0u) << "a new value";
      map[{line}] = line;
      expected[line] = map.find({line});
    } else {
      ASSERT_EQ(map.find({line}), found->second);
      EXPECT_EQ(*found->second, line);
      map.erase({line});
      expected.erase(found);
    }
    ASSERT_EQ(map.size(), expected.size());
  }
}

// The parameters are the seed, of which the long form has eight instead of two, and the policies of
// log placement.
class HwUndoCrash : public testing::TestWithParam<std::tuple<int, LogPolicies>> {};
INSTANTIATE_TEST_SUITE_P(Seeds, HwUndoCrash,
                         testing::Combine(seeds(0, 2, 8), testing::ValuesIn(kLogPolicies)));

TEST_P(HwUndoCrash, LeavesWholeRegionsAtEveryPoint) {
  const auto& [seed, policies] = GetParam();
  Regions program(static_cast<std::uint32_t>(seed), 30, 24, 40);
  expect_whole_regions<HwUndo>(program,
                               crash_configuration({{"atomicity", "hw-undo"},
                                                    {"log.allocation", policies.allocation},
                                                    {"log.metadata", policies.metadata}}),
                               [](const HwUndo::Survivors& survivors, Image& image) {
                                 recover_undo_log(survivors, image);
                                 return survivors.committed[0];
                               },
                               {.crashes = 300, .undone = 50});
}

// The long form has two seeds instead of one.
class HwUndoSharedCrash
    : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t, LogPolicies>> {};
INSTANTIATE_TEST_SUITE_P(SeedsThreadsAndPolicies, HwUndoSharedCrash,
                         testing::Combine(seeds(0u, 1u, 2u), testing::Range(2u, 5u),
                                          testing::ValuesIn(kLogPolicies)));

TEST_P(HwUndoSharedCrash, LeavesAClosedSetOfWholeRegionsAtEveryPoint) {
  const auto& [seed, threads, policies] = GetParam();
  // The fewest entries that the four cores' headers fit into.
  for (const std::string_view log_queue : {"0", "2"}) {
    const SharedRun run = crash_shared({.seed = seed, .threads = threads},
                                       crash_configuration({{"core.count", "4"},
                                                            {"atomicity", "hw-undo"},
                                                            {"pm.log_queue_entries", log_queue},
                                                            {"log.allocation", policies.allocation},
                                                            {"log.metadata", policies.metadata}},
                                                           "9"));
    EXPECT_EQ(run.problem, "");
    EXPECT_GT(run.crashes, 200);
    EXPECT_GT(run.undone, 20);
  }
}

TEST(HwUndo, LineIsLoggedOncePerRegionAndItsLogIsDropped) {
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
  EXPECT_EQ(statistic(result, "log.entries"), 2);
  EXPECT_EQ(statistic(result, "log.dropped"), 2);
  EXPECT_EQ(statistic(result, "pm.log_bytes_written"), 0);
  EXPECT_EQ(statistic(result, "pm.data_bytes_written"), 128);
}

TEST(HwUndo, OrderingWithoutFlushesIsRejected) {
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
