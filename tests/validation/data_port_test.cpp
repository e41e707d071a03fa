// The data port that takes one access at a time, and the latencies of responses, against times
// computed by hand.
#include "pmemsim/machine/cpu/data_port.hpp"

#include "validation/round_machine.hpp"

namespace pmemsim {
namespace {

using trace::SiteKind;
using trace::TraceBuilder;

// ---- The structure

constexpr Line kLine{77}, kOther{78};

TEST(DataPort, AccessTakesTheFirstGapThatIsLongEnough) {
  DataPort port(true);
  EXPECT_EQ(port.find(10, 4, 1), 10);
  port.take(10, 14);
  port.take(20, 24);
  EXPECT_EQ(port.find(4, 6, 1), 4) << "it ends when the other one begins";
  EXPECT_EQ(port.find(8, 4, 0), 14);
  EXPECT_EQ(port.find(8, 4, 1), 15) << "a refused load is sent again one slot later";
  EXPECT_EQ(port.find(8, 7, 1), 25) << "six slots are free between the two";
  EXPECT_EQ(port.find(14, 4, 1), 14) << "it did not find the port occupied";
}

TEST(DataPort, AccessWaitsForAHolderWhoseEndIsUnknown) {
  DataPort port(true);
  port.hold(100, kLine);
  EXPECT_TRUE(port.held_for(kLine));
  EXPECT_FALSE(port.held_for(kOther));
  EXPECT_FALSE(port.held_for_flush());
  EXPECT_EQ(port.find(90, 10, 1), 90) << "before the holder";
  EXPECT_FALSE(port.find(91, 10, 1).has_value());
  port.release(300);
  EXPECT_FALSE(port.held());
  EXPECT_EQ(port.find(91, 10, 1), 301);
  port.hold(400);
  EXPECT_TRUE(port.held_for_flush());
}

// ---- Accesses of a core

const KeyValue kOneAtATime{"core.one_access_at_a_time", "true"};
const KeyValue kRetry{"core.load_retry_latency", "1cycles"};

std::vector<Setting> machine(std::vector<KeyValue> more = {}) {
  more.push_back(kOneAtATime);
  return round_machine(more);
}

// The time of one of many accesses of this kind, to so many lines, one after the other.
double access_ns(SiteKind kind, std::uint64_t lines, const std::vector<Setting>& settings) {
  return steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t site = builder.site(kind, 8);
        for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rounds); ++i) {
          const std::uint64_t address = kPmBase + i % lines * kOtherBank;
          if (kind == SiteKind::kStore) {
            builder.store(site, address, i);
          } else {
            builder.access(site, address);
          }
        }
      },
      2000, settings);
}

TEST(DataPort, IndependentHitsTakeALatencyEach) {
  EXPECT_LT(access_ns(SiteKind::kLoad, 4, round_machine()), 1);
  expect_near(access_ns(SiteKind::kLoad, 4, machine()), kL1);
  expect_near(access_ns(SiteKind::kLoad, 4, machine({kRetry})), kL1 + 1);
  expect_near(access_ns(SiteKind::kStore, 4, machine({kRetry})), kL1);
}

TEST(DataPort, IndependentMissesDoNotOverlap) {
  expect_near(access_ns(SiteKind::kLoad, 1 << 20, machine()), kWayDown + kPmRead);
  expect_near(access_ns(SiteKind::kStore, 1 << 20, machine()), kWayDown + kPmRead);
}

TEST(DataPort, LoadThatCrossesALineMakesTwoAccesses) {
  const double ns = steady_ns(
      [](TraceBuilder& builder, int rounds) {
        const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
        for (int i = 0; i < rounds; ++i) builder.access(load, kPmBase + 60);
      },
      2000, machine());
  expect_near(ns, 2 * kL1);
}

// Rounds of: store and clwb to each of `lines` lines, `loads` loads of another line, sfence.
double persist_round(int lines, int loads, const std::vector<Setting>& settings) {
  return steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        const std::uint32_t flush = builder.site(SiteKind::kFlush);
        const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
        const std::uint32_t fence = builder.site(SiteKind::kFence);
        for (int round = 0; round < rounds; ++round) {
          for (int i = 0; i < lines; ++i) builder.store(store, kPmBase + i * 64u, 1);
          for (int i = 0; i < lines; ++i) builder.access(flush, kPmBase + i * 64u);
          for (int i = 0; i < loads; ++i) builder.access(load, kPmBase + 8192);
          builder.plain(fence);
        }
      },
      500, settings);
}

TEST(DataPort, FlushesBeforeOneFenceDoNotOverlap) {
  for (const int lines : {1, 2, 16}) {
    expect_near(persist_round(lines, 0, machine()), lines * (kL1 + kWayDown) + 1);
  }
  expect_near(persist_round(4, 0,
                            machine({{"path.request_latency", "40ns"},
                                     {"path.response_latency", "30ns"},
                                     {"pm.front_latency", "20ns"}})),
              4 * (kL1 + kWayDown + 40 + 20 + 30) + 1);
}

TEST(DataPort, LoadsWaitForAFlush) {
  expect_near(persist_round(1, 8, machine({kRetry})), kL1 + kWayDown + 8 * (kL1 + 1));
  // The core waits for the flush alone: it has nothing to do but loads behind the port.
  EXPECT_LT(persist_round(1, 8, round_machine()), 1 + kWayDown + 2);
}

// ---- Responses

// A chain of loads over a working set: every load depends on the one before.
double chase_ns(std::uint64_t bytes, const std::vector<Setting>& settings) {
  const std::uint64_t lines = bytes / 64;
  return steady_ns(
             [&](TraceBuilder& builder, int rounds) {
               const std::uint32_t load =
                   builder.site(SiteKind::kLoad, 8, 1, {trace::kBuiltinSites << 8});
               for (int round = 0; round < rounds; ++round) {
                 for (std::uint64_t i = 0; i < lines; ++i) builder.access(load, kPmBase + i * 64);
               }
             },
             3, settings) /
         static_cast<double>(lines);
}

const std::vector<KeyValue> kResponses{{"l1.response_latency", "3ns"},
                                       {"l2.response_latency", "5ns"},
                                       {"shared.response_latency", "7ns"}};

TEST(Responses, EachCacheOnTheWayBackAddsItsLatency) {
  const std::vector<Setting> settings = round_machine(kResponses);
  expect_near(chase_ns(16 << 10, settings), kL1);
  expect_near(chase_ns(128 << 10, settings), kL1Tags + kL2 + 3);
  expect_near(chase_ns(512 << 10, settings), kL1Tags + kL2Tags + kShared + 5 + 3);
  expect_near(chase_ns(2 << 20, settings), kWayDown + kPmRead + 7 + 5 + 3);
}

TEST(Responses, AcknowledgementOfAFlushPassesAllCaches) {
  expect_near(persist_round(1, 0, round_machine(kResponses)), 1 + kWayDown + 7 + 5 + 3 + 1);
}

TEST(Responses, MachineWithoutAnL2AddsNothingForIt) {
  std::vector<KeyValue> more = kResponses;
  more.push_back({"l2.size", "0B"});
  expect_near(persist_round(1, 0, round_machine(more)), 1 + kL1Tags + kSharedTags + 7 + 3 + 1);
}

// ---- The entry to memory

TEST(MostReads, ReadsOfMemoryWaitForEachOther) {
  const auto miss = [](std::string_view most, std::vector<KeyValue> more) {
    more.push_back({"path.most_reads", most});
    return access_ns(SiteKind::kLoad, 1 << 20, round_machine(more));
  };
  expect_near(miss("1", {}), kPmRead);
  expect_near(miss("2", {}), kPmRead / 2);
  expect_near(miss("1", {{"path.request_latency", "40ns"}, {"path.response_latency", "30ns"}}),
              40 + kPmRead + 30);
}

}  // namespace
}  // namespace pmemsim
