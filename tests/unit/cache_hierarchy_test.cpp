// The coherent cache hierarchy, with requests of cores by hand: states, latencies, write-backs, and
// what the acknowledgement of a flush guarantees.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "pmemsim/machine/cache/hierarchy.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "run_trace.hpp"
#include "unit/memory_bench.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kPm = 1u << 20;
constexpr CoreId kCores = 3;

// Lines of PM (in one bank, so that writes take turns) and of DRAM, in one set of the shared cache.
constexpr Line pm_line(std::uint64_t i) { return {kPm / kLineBytes + i * 16}; }
constexpr std::uint32_t kBuffers = 2;  // for write combining
constexpr Line dram_line(std::uint64_t i) { return {64 + i * 16}; }

MemoryParameters fixed_memory(std::uint32_t wpq_entries) {
  MemoryParameters p = simple_memory();
  p.device = DeviceKind::kFixed;
  p.read_latency = ns(200);
  p.write_latency = ns(1000);
  p.tburst = ns(0);
  p.wpq_entries = wpq_entries;
  return p;
}

struct FakeCore final : CacheClient {
  struct Answer {
    LineState state;
    Time when;
    Source source;
  };
  void filled(Line, LineState state, Time when, Source source) override {
    answer = {state, when, source};
  }
  std::optional<Answer> answer;
};

class HierarchyTest : public testing::Test {
 protected:
  explicit HierarchyTest(std::uint32_t wpq_entries = 8)
      : pm(queue, fixed_memory(wpq_entries)), dram(queue, fixed_memory(8)) {
    pm_space.add({kPm, 2 * kPm});
    for (CoreId core = 0; core < kCores; ++core) hierarchy.connect(core, cores[core]);
  }

  void run() {
    while (queue.step()) {
    }
  }
  struct Served {
    LineState state;
    Picoseconds took;
    Source source;
  };
  // Returns the answer to a request of the core at the current time, without requests of other
  // cores.
  Served ask(CoreId core, Line line, bool to_write) {
    const Time start = queue.now();
    cores[core].answer.reset();
    hierarchy.request(core, line, to_write, start);
    run();
    const FakeCore::Answer& answer = cores[core].answer.value();
    return {answer.state, answer.when - start, answer.source};
  }
  // MESI letters of the cores' copies.
  std::string states(Line line) {
    std::string text;
    for (CoreId core = 0; core < kCores; ++core) {
      const PrivateCaches::Lookup found = hierarchy.private_caches(core).look_up(line, 0);
      text += found.hit ? "SEM"[static_cast<int>(found.state)] : 'I';
    }
    return text;
  }
  void write(CoreId core, Line line, std::uint64_t value) {
    hierarchy.private_caches(core).write(line);
    pm_space.newest().write(line, data_of(value));
  }
  void flush(CoreId core, Line line, bool dirty, Time when, std::uint64_t number,
             bool invalidate = false) {
    hierarchy.flush(core, line, invalidate, dirty, when,
                    completion<&HierarchyTest::acknowledged>(*this, number));
  }
  // A non-temporal store of 8 bytes.
  bool combine(CoreId core, Line line, std::uint64_t word, Time when, std::uint64_t number) {
    return hierarchy.combine(core, line, bytes_from(word * 8, 8), when,
                             completion<&HierarchyTest::acknowledged>(*this, number));
  }
  // Otherwise `acknowledged_at` gets the time at which a flush or a buffer is free.
  bool may_send_flush(CoreId core, std::uint64_t number) {
    return hierarchy.may_send_flush(core, completion<&HierarchyTest::acknowledged>(*this, number));
  }
  bool has_buffer(CoreId core, Line line, Time when, std::uint64_t number) {
    return hierarchy.has_buffer(core, line, when,
                                completion<&HierarchyTest::acknowledged>(*this, number));
  }
  void acknowledged(std::uint64_t number, Time when) { acknowledged_at[number] = when; }
  // Schedules a non-temporal store of core 0.
  void combine_at(Time when, std::uint64_t line, std::uint64_t number) {
    buffer_number = number;
    queue.schedule(when, Phase::kCore, completion<&HierarchyTest::combine_now>(*this, line));
  }
  void combine_now(std::uint64_t line, Time now) {
    combine(0, pm_line(line), 0, now, buffer_number);
  }

  EventQueue queue;
  PmSpace pm_space;
  Memory pm, dram;
  const Configuration nothing = configure(settings({{"ordering", "none"}, {"atomicity", "none"}}));
  Design design{nothing.blueprint(), queue, pm};
  std::array<FakeCore, kCores> cores;
  std::map<std::uint64_t, Time> acknowledged_at;
  std::uint64_t buffer_number = 0;  // Number of the buffer that combine_at() opens
  // 1 GHz, so that slots are nanoseconds; the shared cache has two sets of four ways.
  Hierarchy hierarchy{{queue, pm_space, dram, pm, design},
                      Clock({1'000'000'000}, 1),
                      kCores,
                      {.size = {4 * 64}, .ways = 4, .latency = cycles(4), .tag_latency = cycles(4)},
                      {.size = {0}, .ways = 8, .latency = cycles(10), .tag_latency = cycles(10)},
                      {.size = {8 * 64},
                       .size_per_core = {0},
                       .ways = 4,
                       .latency = cycles(30),
                       .tag_latency = cycles(20),
                       .snoop_latency = cycles(18),
                       .faults = {}},
                      {.request_latency = nanoseconds(7), .response_latency = nanoseconds(9)},
                      {.write_combining = kBuffers, .flushes = 2}};
};

TEST_F(HierarchyTest, MissesAreServedByTheirMemory) {
  const Served from_pm = ask(0, pm_line(0), false);
  EXPECT_EQ(from_pm.source, Source::kPm);
  EXPECT_EQ(from_pm.took, ns(20 + 7 + 200 + 9));
  EXPECT_EQ(ask(0, dram_line(0), false).source, Source::kDram);
  EXPECT_EQ(hierarchy.statistics().pm_reads, 1u);
  EXPECT_EQ(hierarchy.statistics().dram_reads, 1u);
}

// A line that the shared cache evicts takes no latency of an L1 before it.
TEST_F(HierarchyTest, EvictionPathBeginsAtTheSharedCacheAndFlushPathAtTheCore) {
  EXPECT_EQ(hierarchy.shared_to_controller(), ns(20 + 7));
  EXPECT_EQ(hierarchy.core_to_controller(0), ns(4 + 20 + 7));
  EXPECT_EQ(hierarchy.controller_to_core(), ns(9));
}

TEST_F(HierarchyTest, StatesFollowMesi) {
  const Line line = pm_line(0);
  EXPECT_EQ(ask(0, line, false).state, LineState::kExclusive);
  EXPECT_EQ(states(line), "EII");
  write(0, line, 1);
  EXPECT_EQ(states(line), "MII");
  // The owner is snooped, which adds the snoop latency.
  const Served second = ask(1, line, false);
  EXPECT_EQ(second.source, Source::kOtherCore);
  EXPECT_EQ(second.took, ns(30 + 18));
  EXPECT_EQ(states(line), "SSI");
  // No private cache owns the line: the shared cache answers alone.
  EXPECT_EQ(ask(2, line, false).took, ns(30));
  EXPECT_EQ(states(line), "SSS");
  // An upgrade invalidates the other cores' copies.
  const Served upgrade = ask(1, line, true);
  EXPECT_EQ(upgrade.state, LineState::kExclusive);
  EXPECT_EQ(upgrade.took, ns(30 + 18));
  EXPECT_EQ(states(line), "IEI");
  EXPECT_EQ(hierarchy.statistics().invalidations, 2u);
  // A write request invalidates a modified copy of another core.
  write(1, line, 2);
  EXPECT_EQ(ask(2, line, true).took, ns(30 + 18));
  EXPECT_EQ(states(line), "IIE");
  EXPECT_EQ(hierarchy.statistics().snoops, 3u);
  EXPECT_EQ(hierarchy.statistics().pm_reads, 1u);
}

TEST_F(HierarchyTest, RequestsDuringAMissAreServedInOrder) {
  const Line line = pm_line(0);
  hierarchy.request(0, line, false, at_ns(0));
  hierarchy.request(1, line, false, at_ns(50));
  hierarchy.request(2, line, true, at_ns(100));  // a store to a line that others are reading
  run();
  EXPECT_EQ(hierarchy.statistics().pm_reads, 1u);
  EXPECT_EQ(cores[0].answer->when, at_ns(236));
  EXPECT_EQ(cores[2].answer->state, LineState::kExclusive);
  EXPECT_EQ(states(line), "IIE");
}

TEST_F(HierarchyTest, LateUpgradeFetchesTheLineAgain) {
  const Line line = pm_line(0);
  ask(0, line, false);
  ask(1, line, false);
  const Time now = queue.now();
  hierarchy.request(1, line, true, now);
  hierarchy.request(0, line, true, now + ns(1));
  run();
  EXPECT_EQ(states(line), "EII");
}

TEST_F(HierarchyTest, DirtyVictimsAreWrittenToTheirMemory) {
  ask(0, pm_line(0), true);
  write(0, pm_line(0), 42);
  ask(0, dram_line(0), true);
  hierarchy.private_caches(0).write(dram_line(0));
  for (std::uint64_t i = 1; i < 4; ++i) ask(1, pm_line(i), false);  // evict both from four ways
  ask(1, pm_line(4), false);
  EXPECT_EQ(hierarchy.statistics().pm_write_backs, 1u);
  EXPECT_EQ(hierarchy.statistics().dram_write_backs, 1u);
  EXPECT_EQ(states(pm_line(0)), "III");  // inclusion
  pm.drain();
  run();
  EXPECT_EQ(value_of(pm.device().read(pm_line(0))), 42u);
}

TEST_F(HierarchyTest, CleanVictimsAreNotWritten) {
  for (std::uint64_t i = 0; i < 9; ++i) ask(0, pm_line(i), false);
  EXPECT_EQ(hierarchy.statistics().pm_write_backs, 0u);
}

// ---- A layer has a line dropped

TEST_F(HierarchyTest, DroppedLineLeavesAllCaches) {
  ask(0, pm_line(0), false);
  ask(1, pm_line(0), false);
  EXPECT_EQ(states(pm_line(0)), "SSI");
  EXPECT_TRUE(hierarchy.drop(pm_line(0)));
  EXPECT_EQ(states(pm_line(0)), "III");
  EXPECT_EQ(hierarchy.statistics().pm_write_backs, 0u);
  EXPECT_EQ(ask(0, pm_line(0), false).source, Source::kPm);
}

TEST_F(HierarchyTest, DroppedModifiedLineIsWrittenBack) {
  ask(0, pm_line(0), true);
  write(0, pm_line(0), 42);
  EXPECT_TRUE(hierarchy.drop(pm_line(0)));
  EXPECT_EQ(states(pm_line(0)), "III");
  EXPECT_EQ(hierarchy.statistics().pm_write_backs, 1u);
  pm.drain();
  run();
  EXPECT_EQ(value_of(pm.device().read(pm_line(0))), 42u);
}

TEST_F(HierarchyTest, DropOfAnUncachedLineSucceeds) { EXPECT_TRUE(hierarchy.drop(pm_line(0))); }

TEST_F(HierarchyTest, LineInFlightFromMemoryCannotBeDropped) {
  hierarchy.request(0, pm_line(0), false, queue.now());
  while (hierarchy.pending_misses() == 0) queue.step();
  EXPECT_FALSE(hierarchy.drop(pm_line(0)));
  run();
  EXPECT_EQ(states(pm_line(0)), "EII");
  EXPECT_TRUE(hierarchy.drop(pm_line(0)));
}

TEST_F(HierarchyTest, DirtyPrivateVictimIsDirtyInTheSharedCache) {
  const Line line{kPm / kLineBytes};
  ask(0, line, true);
  write(0, line, 7);
  for (std::uint64_t i = 1; i < 5; ++i) ask(0, {line.number + i * 2 + 1}, false);  // the other set
  EXPECT_EQ(states(line), "III");
  flush(1, line, false, queue.now(), 1);
  run();
  EXPECT_EQ(hierarchy.statistics().clean_flushes, 0u);
  pm.drain();
  run();
  EXPECT_EQ(value_of(pm.device().read(line)), 7u);
}

TEST_F(HierarchyTest, WarmedLineIsExclusiveInItsLastCore) {
  const auto warm = [&](CoreId core, Line line) {
    hierarchy.warm(std::array{Hierarchy::Touch{core, line}});
  };
  warm(0, pm_line(0));
  EXPECT_EQ(states(pm_line(0)), "EII");
  warm(2, pm_line(0));
  EXPECT_EQ(states(pm_line(0)), "IIE");
  EXPECT_EQ(ask(1, pm_line(0), false).took, ns(30 + 18));
  // Warm lines push out warm lines, from the private caches too.
  for (std::uint64_t i = 1; i < 5; ++i) warm(1, pm_line(i));
  EXPECT_EQ(states(pm_line(0)), "III");
  EXPECT_EQ(hierarchy.statistics().pm_write_backs, 0u);
}

// Sets of four ways.
TEST_F(HierarchyTest, WarmedSetKeepsTheMostRecentlyTouchedLines) {
  std::vector<Hierarchy::Touch> touches = {{0, pm_line(0)}};
  for (std::uint64_t i = 1; i < 5; ++i) touches.push_back({0, pm_line(i)});
  touches.push_back({2, pm_line(0)});
  hierarchy.warm(touches);
  EXPECT_EQ(states(pm_line(0)), "IIE");
  EXPECT_EQ(ask(1, pm_line(0), false).took, ns(30 + 18));
  EXPECT_EQ(ask(1, pm_line(2), false).took, ns(30 + 18));
  EXPECT_EQ(states(pm_line(1)), "III");
  EXPECT_GT(ask(1, pm_line(1), false).took, ns(200));
}

TEST_F(HierarchyTest, FlushIsAcknowledgedWhenTheWpqAcceptsIt) {
  ask(0, pm_line(0), true);
  write(0, pm_line(0), 5);
  const Time start = queue.now();
  EXPECT_TRUE(hierarchy.private_caches(0).mark_clean(pm_line(0)));
  flush(0, pm_line(0), true, start, 1);
  run();
  EXPECT_EQ(acknowledged_at[1] - start, ns(20 + 7 + 9));
  EXPECT_EQ(states(pm_line(0)), "EII");
}

TEST_F(HierarchyTest, FlushWritesALineModifiedByAnotherCore) {
  ask(0, pm_line(0), true);
  write(0, pm_line(0), 5);
  flush(1, pm_line(0), false, queue.now(), 1);
  run();
  EXPECT_EQ(states(pm_line(0)), "EII");  // clean, and still there
  pm.drain();
  run();
  EXPECT_EQ(value_of(pm.device().read(pm_line(0))), 5u);
}

TEST_F(HierarchyTest, DirtyLineReadByAnotherCoreStaysDirty) {
  ask(0, pm_line(0), true);
  write(0, pm_line(0), 5);
  ask(1, pm_line(0), false);
  flush(1, pm_line(0), false, queue.now(), 1);
  run();
  EXPECT_EQ(hierarchy.statistics().clean_flushes, 0u);
  pm.drain();
  run();
  EXPECT_EQ(value_of(pm.device().read(pm_line(0))), 5u);
}

TEST_F(HierarchyTest, InvalidatingFlushRemovesEveryCopy) {
  ask(0, pm_line(0), false);
  ask(1, pm_line(0), false);
  flush(2, pm_line(0), false, queue.now(), 1, true);
  run();
  EXPECT_EQ(states(pm_line(0)), "III");
  EXPECT_EQ(ask(0, pm_line(0), false).source, Source::kPm);
}

TEST_F(HierarchyTest, OvertakenFlushDoesNotUndoANewerStore) {
  // Core 0 runs ahead: its flush leaves at 100 and writes the stores made so far.
  write(0, pm_line(0), 1);
  flush(0, pm_line(0), true, at_ns(100), 1);
  write(1, pm_line(0), 2);
  flush(1, pm_line(0), true, at_ns(10), 2);
  run();
  pm.drain();
  run();
  EXPECT_EQ(value_of(pm.device().read(pm_line(0))), 2u);
}

TEST_F(HierarchyTest, CleanFlushWaitsForTheDirtyFlushItOvertakes) {
  write(0, pm_line(0), 1);
  flush(0, pm_line(0), true, at_ns(100), 1);
  flush(1, pm_line(0), false, at_ns(10), 2);
  run();
  EXPECT_EQ(acknowledged_at[1], at_ns(100 + 20 + 7 + 9));
  EXPECT_EQ(acknowledged_at[2], acknowledged_at[1]);
}

TEST_F(HierarchyTest, CleanFlushWaitsForAllWritesOfItsLineInFlight) {
  write(0, pm_line(0), 1);
  flush(0, pm_line(0), true, at_ns(100), 1);
  write(1, pm_line(0), 2);
  flush(1, pm_line(0), true, at_ns(50), 2);
  flush(2, pm_line(0), false, at_ns(10), 3);
  run();
  EXPECT_LT(acknowledged_at[2], acknowledged_at[1]);
  EXPECT_EQ(acknowledged_at[3], acknowledged_at[1]);
}

class FullWpqTest : public HierarchyTest {
 protected:
  FullWpqTest() : HierarchyTest(1) {
    // One write in the bank for 1000 ns, one in the WPQ.
    flush(0, pm_line(10), true, at_ns(0), 10);
    flush(0, pm_line(11), true, at_ns(1), 11);
  }
};

TEST_F(FullWpqTest, CleanFlushWaitsForAWriteThatTheWpqHasNotAccepted) {
  flush(0, pm_line(0), true, at_ns(2), 1);
  flush(1, pm_line(0), false, at_ns(5), 2);  // clean by now, but not persistent
  flush(1, pm_line(1), false, at_ns(5), 3);  // another line: clean
  run();
  EXPECT_GT(acknowledged_at[1], at_ns(1000));
  EXPECT_EQ(acknowledged_at[2], acknowledged_at[1]);
  EXPECT_EQ(acknowledged_at[3], at_ns(5 + 20 + 7 + 9));
}

TEST_F(FullWpqTest, CleanFlushWaitsForAnEvictionThatTheWpqHasNotAccepted) {
  ask(0, pm_line(0), true);  // runs until the bank has written: fill it again
  write(0, pm_line(0), 1);
  const Time start = queue.now();
  flush(0, pm_line(12), true, start, 12);
  flush(0, pm_line(13), true, start, 13);
  for (std::uint64_t i = 1; i < 5; ++i) hierarchy.request(1, dram_line(i), false, start + ns(1));
  flush(1, pm_line(0), false, start + ns(900), 2);
  run();
  EXPECT_EQ(hierarchy.statistics().pm_write_backs, 1u);
  EXPECT_GT(acknowledged_at[2], start + ns(1027));
}

// The bank takes the write of the WPQ after 1000 ns, and the WPQ then accepts the waiting one.
TEST_F(FullWpqTest, FillThatEvictsADirtyLineWaitsForWaitingWrites) {
  ask(0, pm_line(0), true);  // runs until the bank has written: fill it again
  write(0, pm_line(0), 1);
  const Time start = queue.now();
  for (std::uint64_t i = 12; i < 15; ++i) flush(0, pm_line(i), true, start, i, true);
  for (std::uint64_t i = 1; i < 4; ++i) hierarchy.request(1, dram_line(i), false, start);
  hierarchy.request(2, dram_line(4), false, start + ns(10));
  run();
  EXPECT_EQ(cores[1].answer.value().when, start + ns(20 + 7 + 3 * 200 + 9)) << "a free way";
  EXPECT_EQ(cores[2].answer.value().when, start + ns(20 + 7 + 1000 + 9));
  EXPECT_EQ(hierarchy.statistics().delayed_fills, 1u);
  EXPECT_EQ(hierarchy.statistics().pm_write_backs, 1u);
}

TEST_F(FullWpqTest, FillThatEvictsACleanLineDoesNotWait) {
  ask(0, pm_line(0), false);
  const Time start = queue.now();
  for (std::uint64_t i = 12; i < 15; ++i) flush(0, pm_line(i), true, start, i, true);
  for (std::uint64_t i = 1; i < 4; ++i) hierarchy.request(1, dram_line(i), false, start);
  hierarchy.request(2, dram_line(4), false, start + ns(10));
  run();
  EXPECT_EQ(cores[2].answer.value().when, start + ns(20 + 7 + 4 * 200 + 9));
  EXPECT_EQ(hierarchy.statistics().delayed_fills, 0u);
}

constexpr Picoseconds kWayDown = ns(20 + 7), kWayBack = ns(9);

TEST_F(HierarchyTest, CoreHasALimitedNumberOfFlushesInFlight) {
  EXPECT_TRUE(may_send_flush(0, 9));
  flush(0, pm_line(0), true, at_ns(0), 1);
  EXPECT_TRUE(may_send_flush(0, 9));
  flush(0, pm_line(1), true, at_ns(5), 2);
  EXPECT_FALSE(may_send_flush(0, 3));
  EXPECT_TRUE(may_send_flush(1, 9)) << "another core's";
  run();
  EXPECT_EQ(acknowledged_at[3], at_ns(0) + kWayDown + kWayBack) << "when the first has returned";
  EXPECT_TRUE(may_send_flush(0, 9));
  EXPECT_FALSE(acknowledged_at.contains(9));
}

TEST_F(HierarchyTest, NonTemporalStoresOfALineAreWrittenOnceTheLineIsFull) {
  for (std::uint64_t word = 0; word < 8; ++word) {
    EXPECT_EQ(combine(0, pm_line(0), word, at_ns(10 * word), 1), word == 0);
  }
  run();
  EXPECT_EQ(acknowledged_at[1], at_ns(70) + kWayDown + kWayBack);
  EXPECT_EQ(pm.statistics().all_writes(), 1u);
  EXPECT_EQ(hierarchy.statistics().lines_combined, 1u);
  EXPECT_EQ(hierarchy.statistics().lines_combined_in_part, 0u);
}

TEST_F(HierarchyTest, NewCombinedLineEvictsTheOldestBuffer) {
  combine(0, pm_line(0), 0, at_ns(0), 1);
  combine(0, pm_line(1), 0, at_ns(1), 2);
  combine(0, pm_line(0), 1, at_ns(2), 1);
  combine(1, pm_line(2), 0, at_ns(3), 3);  // has its own
  EXPECT_FALSE(has_buffer(0, pm_line(3), at_ns(4), 4));
  run();
  const Time acknowledged = at_ns(4) + kWayDown + kWayBack;
  EXPECT_EQ(acknowledged_at, (std::map<std::uint64_t, Time>{{1, acknowledged}, {4, acknowledged}}));
  EXPECT_EQ(hierarchy.statistics().lines_combined_in_part, 1u);
}

TEST_F(HierarchyTest, CombiningBufferIsInUseUntilItsLineIsAcknowledged) {
  for (std::uint64_t line : {0, 1}) {  // two buffers: one whole line, and one in part
    for (std::uint64_t word = 0; word < (line == 0 ? 8 : 1); ++word) {
      EXPECT_TRUE(has_buffer(0, pm_line(line), at_ns(0), 9));
      combine(0, pm_line(line), word, at_ns(0), line);
    }
  }
  EXPECT_TRUE(has_buffer(0, pm_line(1), at_ns(1), 9)) << "its own buffer";
  EXPECT_TRUE(has_buffer(1, pm_line(2), at_ns(1), 9)) << "another core's";
  EXPECT_FALSE(has_buffer(0, pm_line(2), at_ns(1), 2));
  run();
  EXPECT_EQ(acknowledged_at[2], at_ns(0) + kWayDown + kWayBack);
  EXPECT_EQ(acknowledged_at[1], at_ns(1) + kWayDown + kWayBack);
  EXPECT_TRUE(has_buffer(0, pm_line(2), at_ns(100), 9));
  EXPECT_FALSE(acknowledged_at.contains(9));
}

TEST_F(HierarchyTest, SendCombinedEmptiesAllBuffersOfOneCore) {
  combine(0, pm_line(0), 0, at_ns(0), 1);
  combine(0, pm_line(1), 0, at_ns(0), 2);
  combine(1, pm_line(2), 0, at_ns(0), 3);
  hierarchy.send_combined(0, at_ns(50));
  run();
  EXPECT_EQ(acknowledged_at[1], at_ns(50) + kWayDown + kWayBack);
  EXPECT_EQ(acknowledged_at[2], acknowledged_at[1]);
  EXPECT_FALSE(acknowledged_at.contains(3)) << "the other core's stay";
}

TEST_F(HierarchyTest, RequestForALineEmptiesItsCombiningBuffer) {
  combine(0, pm_line(0), 0, at_ns(0), 1);
  hierarchy.request(1, pm_line(0), false, at_ns(30));
  combine(0, pm_line(1), 0, at_ns(0), 2);
  run();
  EXPECT_EQ(acknowledged_at, (std::map<std::uint64_t, Time>{{1, at_ns(30) + kWayDown + kWayBack}}));
}

// Nothing is dirty in the caches, but what was stored isn't persistent either.
TEST_F(HierarchyTest, FlushWaitsForTheCombiningBufferOfItsLine) {
  combine(0, pm_line(0), 0, at_ns(0), 1);
  flush(1, pm_line(0), false, at_ns(40), 2);
  run();
  EXPECT_EQ(acknowledged_at[1], at_ns(40) + kWayDown + kWayBack);
  EXPECT_EQ(acknowledged_at[2], acknowledged_at[1]);
}

TEST_F(HierarchyTest, FlushSendsACombiningBufferOpenedWhileItIsInFlight) {
  flush(1, pm_line(0), false, at_ns(40), 2);
  combine(0, pm_line(0), 0, at_ns(41), 1);
  run();
  EXPECT_EQ(acknowledged_at[1], at_ns(40) + kWayDown + kWayDown + kWayBack);
  EXPECT_EQ(acknowledged_at[2], acknowledged_at[1]);
}

// The buffer's core may need the flush to be acknowledged before it can send the buffer.
TEST_F(HierarchyTest, FlushDoesNotWaitForABufferOpenedAfterItsArrival) {
  flush(0, pm_line(0), true, at_ns(20), 1);
  flush(0, pm_line(0), false, at_ns(0), 2);
  combine_at(at_ns(0) + kWayDown + ns(3), 0, 3);
  run();
  EXPECT_EQ(acknowledged_at[1], at_ns(20) + kWayDown + kWayBack);
  EXPECT_EQ(acknowledged_at[2], acknowledged_at[1]) << "when the first flush is persistent";
  EXPECT_FALSE(acknowledged_at.contains(3)) << "the buffer is still open";
}

TEST_F(HierarchyTest, CombiningBufferWritesTheNewestStore) {
  pm_space.newest().write(pm_line(0), data_of(1));
  combine(0, pm_line(0), 0, at_ns(0), 1);
  pm_space.newest().write(pm_line(0), data_of(2));
  combine(0, pm_line(0), 0, at_ns(1), 1);
  hierarchy.send_combined(0, at_ns(2));
  run();
  pm.drain();
  run();
  EXPECT_EQ(value_of(pm.device().read(pm_line(0))), 2u);
}

}  // namespace
}  // namespace pmemsim
