// Where log headers wait (designs/atomicity/header_buffer.hpp): the queue for them alone, and the
// ADR buffer, by the rules of their headers.
#include "pmemsim/designs/atomicity/header_buffer.hpp"
#include "pmemsim/designs/backend/backend.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "memory_bench.hpp"
#include "pmemsim/designs/atomicity/adr_buffer.hpp"
#include "pmemsim/designs/atomicity/header_queue.hpp"

namespace pmemsim {
namespace {

using Headers = std::vector<HeaderId>;

Headers surviving(const HeaderBuffer& buffer) {
  return {buffer.headers().begin(), buffer.headers().end()};
}

// ---- A queue of its own: designs/atomicity/header_queue.hpp

TEST(HeaderQueue, HeadersWithinItsCapacitySurviveACrash) {  // rule 1
  HeaderQueue queue(2, 2);
  EXPECT_EQ(surviving(queue), Headers{});
  queue.take({7, 0}, 0);
  queue.take({7, 1}, 1);
  queue.take({8, 0}, 0);
  EXPECT_EQ(surviving(queue), (Headers{{7, 0}, {7, 1}, {8, 0}}));
}

TEST(HeaderQueue, CompleteHeaderStaysUntilItIsWritten) {  // rule 2
  HeaderQueue queue(1, 1);
  EXPECT_FALSE(queue.keeps_complete()) << "it is to be written then";
  queue.take({7, 0}, 0);
  EXPECT_FALSE(queue.has_space(0));
  EXPECT_EQ(surviving(queue), (Headers{{7, 0}}));
  EXPECT_EQ(queue.spill(0), std::nullopt) << "those on their way make room soon enough";
  queue.release({7, 0}, 0);
  EXPECT_TRUE(queue.has_space(0));
  EXPECT_EQ(surviving(queue), Headers{});
}

TEST(HeaderQueue, KeptHeaderStaysUntilItIsReleasedOrSpilled) {  // rule 3
  HeaderQueue queue(2, 3, 2);
  EXPECT_TRUE(queue.keeps_complete());
  queue.take({7, 0}, 0);
  EXPECT_FALSE(queue.is_short(0)) << "two cores have room for a header each";
  queue.take({7, 1}, 0);
  EXPECT_TRUE(queue.is_short(0));
  queue.take({9, 0}, 0);
  queue.take({8, 0}, 1);
  EXPECT_EQ(queue.spill(0), std::nullopt) << "no record is complete";
  queue.complete({7, 1}, 0);
  queue.complete({7, 0}, 0);
  queue.complete({8, 0}, 1);
  EXPECT_EQ(queue.spill(0), (HeaderId{7, 1})) << "the oldest complete one of the channel";
  EXPECT_FALSE(queue.has_space(0)) << "until it is written";
  EXPECT_EQ(surviving(queue), (Headers{{7, 0}, {7, 1}, {9, 0}, {8, 0}}));
  queue.release({7, 1}, 0);
  EXPECT_TRUE(queue.has_space(0));
  queue.release({7, 0}, 0);
  EXPECT_EQ(queue.spill(0), std::nullopt) << "a released header is never written";
}

TEST(HeaderQueue, FullChannelStallsNewEntries) {  // rule 4
  HeaderQueue queue(2, 2);
  EXPECT_TRUE(queue.stalls_stores());
  queue.take({7, 0}, 1);
  EXPECT_TRUE(queue.has_space(1));
  queue.take({7, 1}, 1);
  EXPECT_FALSE(queue.has_space(1));
  EXPECT_TRUE(queue.has_space(0));
}

TEST(HeaderQueue, QueueWithoutEntriesHasNoSpaceAndStallsNoStores) {  // rule 5
  const HeaderQueue queue(1, 0);
  EXPECT_FALSE(queue.has_space(0));
  EXPECT_FALSE(queue.stalls_stores());
}

// ---- Entries of the write pending queue: designs/atomicity/adr_buffer.hpp

// Two channels of pages of two lines, each with four entries that can be reserved.
MemoryParameters two_channels() {
  MemoryParameters p = simple_memory();
  p.controllers = 2;
  p.wpq_entries = 5;
  return p;
}

struct AdrBench : MemoryBench {
  explicit AdrBench(std::uint32_t header_lines, bool from_controllers = false)
      : MemoryBench(two_channels()),
        backend(queue, memory, {}, ns(0)),
        buffer(backend, 2, header_lines, from_controllers,
               completion<&AdrBench::has_space>(*this)) {}
  void has_space(std::uint64_t, Time when) { room_at.push_back(when); }
  // Entries that can still be reserved.
  std::uint32_t left(std::uint32_t channel) const {
    std::uint32_t entries = 0;
    while (memory.can_reserve(channel, entries + 1)) ++entries;
    return entries;
  }

  Backend backend;
  AdrBuffer buffer;
  std::vector<Time> room_at;
};

TEST(AdrBuffer, HeaderUsesOneEntryForEachOfItsLines) {  // rule 1
  for (const std::uint32_t lines : {1u, 2u}) {
    AdrBench bench(lines);
    for (std::uint32_t header = 0; header < 4 / lines; ++header) {
      EXPECT_TRUE(bench.buffer.has_space(0));
      bench.buffer.take({7, header}, 0);
      EXPECT_EQ(bench.left(0), 4 - lines * (header + 1));
    }
    EXPECT_FALSE(bench.buffer.has_space(0));
    EXPECT_EQ(bench.left(1), 4u);
    EXPECT_EQ(surviving(bench.buffer).size(), 4 / lines);
  }
}

TEST(AdrBuffer, HeaderIsNotBufferedWithoutSpaceForAllItsLines) {  // rule 1
  AdrBench bench(2);
  ASSERT_TRUE(bench.backend.reserve(0));
  EXPECT_TRUE(bench.buffer.has_space(0));
  bench.buffer.take({7, 0}, 0);
  EXPECT_EQ(bench.left(0), 1u);
  EXPECT_FALSE(bench.buffer.has_space(0));
}

TEST(AdrBuffer, CompleteHeaderStaysUntilItIsDiscarded) {  // rule 2
  AdrBench bench(2);
  EXPECT_TRUE(bench.buffer.keeps_complete());
  bench.buffer.take({7, 0}, 0);
  bench.buffer.take({8, 0}, 1);
  bench.buffer.complete({7, 0}, 0);
  EXPECT_EQ(surviving(bench.buffer), (Headers{{7, 0}, {8, 0}}));
  bench.buffer.release({7, 0}, 0);
  EXPECT_EQ(surviving(bench.buffer), (Headers{{8, 0}}));
  EXPECT_EQ(bench.left(0), 4u);
  EXPECT_EQ(bench.left(1), 2u);
  bench.run();
  EXPECT_EQ(bench.memory.statistics().all_writes(), 0u);
}

TEST(AdrBuffer, SpillsTheOldestCompleteHeaderOfTheChannel) {  // rule 3
  AdrBench bench(1);
  for (const std::uint32_t record : {0u, 1u, 2u}) bench.buffer.take({7, record}, 0);
  bench.buffer.take({8, 0}, 1);
  EXPECT_EQ(bench.buffer.spill(0), std::nullopt) << "no record is complete";
  bench.buffer.complete({7, 2}, 0);
  bench.buffer.complete({7, 1}, 0);
  bench.buffer.complete({7, 0}, 0);
  bench.buffer.complete({8, 0}, 1);
  bench.buffer.release({7, 1}, 0);
  EXPECT_EQ(bench.buffer.spill(0), (HeaderId{7, 2}));
  EXPECT_EQ(bench.buffer.spill(0), (HeaderId{7, 0})) << "the released header is skipped";
  EXPECT_EQ(bench.buffer.spill(0), std::nullopt);
  EXPECT_EQ(bench.buffer.spill(1), (HeaderId{8, 0}));
}

TEST(AdrBuffer, SpilledHeaderKeepsItsEntriesUntilItsRelease) {  // rule 3
  AdrBench bench(2);
  bench.buffer.take({7, 0}, 0);
  bench.buffer.complete({7, 0}, 0);
  ASSERT_EQ(bench.buffer.spill(0), (HeaderId{7, 0}));
  EXPECT_EQ(bench.left(0), 2u);
  EXPECT_EQ(surviving(bench.buffer), (Headers{{7, 0}}));
  bench.buffer.release({7, 0}, 0);
  EXPECT_EQ(bench.left(0), 4u);
}

TEST(AdrBuffer, WaitingCallerIsNotifiedOnceOfSpace) {  // rule 3
  AdrBench bench(1);
  for (int entry = 0; entry < 4; ++entry) ASSERT_TRUE(bench.backend.reserve(0));
  bench.buffer.await_space(0);
  bench.buffer.await_space(0);
  bench.run_until(at_ns(10));
  EXPECT_EQ(bench.room_at.size(), 0u);
  bench.backend.release(0);
  bench.backend.release(0);
  bench.run_until(at_ns(20));
  EXPECT_EQ(bench.room_at, std::vector{at_ns(10)});
  ASSERT_TRUE(bench.backend.reserve(0));
  ASSERT_TRUE(bench.backend.reserve(0));
  bench.buffer.await_space(0);
  bench.backend.release(0);
  bench.run();
  EXPECT_EQ(bench.room_at, (std::vector{at_ns(10), at_ns(20)}))
      << "a caller that waits again is notified again";
}

// A point that the paper leaves open: a core waits for the ADR buffer, and a controller doesn't.
TEST(AdrBuffer, FullBufferStallsCoresButNotControllers) {
  EXPECT_TRUE(AdrBench(1, false).buffer.stalls_stores());
  EXPECT_FALSE(AdrBench(1, true).buffer.stalls_stores());
}

}  // namespace
}  // namespace pmemsim
