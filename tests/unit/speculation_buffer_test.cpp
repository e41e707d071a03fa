// PMEM-Spec's speculation buffer by itself: tables 1 and 2 of the paper row by row, windows to the
// picosecond, speculation IDs, and more lines than it has entries for.
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>

#include "pmemsim/designs/ordering/speculation_buffer.hpp"
#include "unit/memory_bench.hpp"

namespace pmemsim {
namespace {

constexpr Line kWatched{100}, kUnwatched{101};
constexpr ByteMask kFirstWord = bytes_from(0, 8), kSecondWord = bytes_from(8, 8);

enum class Verdict : std::uint8_t {
  kRight,
  kLoad,
  kFalseLoad,
  kStore,
  kFalseStore,
};

class SpeculationBufferTest : public testing::Test {
 protected:
  static constexpr Picoseconds kWindow = ns(160);

  Verdict persist(Line line, std::optional<std::uint32_t> id, Time when,
                  ByteMask bytes = kFirstWord) {
    const auto found = buffer.persist({line, bytes, id}, when);
    if (!found) return Verdict::kRight;
    if (found->of_store) return found->false_alarm ? Verdict::kFalseStore : Verdict::kStore;
    return found->false_alarm ? Verdict::kFalseLoad : Verdict::kLoad;
  }
  Verdict persist(Time when) { return persist(kWatched, {}, when); }
  // Bring the line into a state at `when`: by a write-back, and by a read after it.
  void evict(Time when) { buffer.write_back(kWatched, when); }
  void speculate(Time when, bool stale = true) {
    evict(when);
    buffer.read(kWatched, stale, when);
  }

  PmemSpecParameters parameters;
  SpeculationBuffer buffer{parameters, kWindow};
};

// ---- State Initial

TEST_F(SpeculationBufferTest, WriteBackInStateInitialMakesAnEntry) {
  EXPECT_EQ(buffer.entries(), 0);
  evict(at_ns(0));
  EXPECT_EQ(buffer.entries(), 1);
  EXPECT_EQ(persist(at_ns(1)), Verdict::kRight) << "no core has read it: state Evict";
}

TEST_F(SpeculationBufferTest, ReadInStateInitialIsIgnored) {
  buffer.read(kWatched, true, at_ns(0));
  EXPECT_EQ(buffer.entries(), 0);
  EXPECT_EQ(persist(at_ns(1)), Verdict::kRight);
}

TEST_F(SpeculationBufferTest, StoreInStateInitialIsIgnored) {
  EXPECT_EQ(persist(at_ns(0)), Verdict::kRight);
  EXPECT_EQ(buffer.entries(), 0);
}

// An entry that a tagged store has made is in state Initial as well.
TEST_F(SpeculationBufferTest, ReadInStateInitialIsIgnoredDespiteAnEntry) {
  persist(kWatched, 1, at_ns(0));
  ASSERT_EQ(buffer.entries(), 1);
  buffer.read(kWatched, true, at_ns(1));
  EXPECT_EQ(persist(at_ns(2)), Verdict::kRight);
  evict(at_ns(3));
  EXPECT_EQ(buffer.entries(), 1) << "the same entry";
  buffer.read(kWatched, true, at_ns(4));
  EXPECT_EQ(persist(at_ns(5)), Verdict::kLoad) << "that has gone over to Evict";
}

// ---- State Evict

TEST_F(SpeculationBufferTest, WriteBackInStateEvictBeginsANewWindow) {
  evict(at_ns(0));
  evict(at_ns(100));
  buffer.read(kWatched, true, at_ns(259));
  EXPECT_EQ(persist(Time{259'999}), Verdict::kLoad);
}

TEST_F(SpeculationBufferTest, ReadInStateEvictEntersSpeculated) {
  evict(at_ns(0));
  buffer.read(kWatched, true, at_ns(10));
  EXPECT_EQ(persist(at_ns(20)), Verdict::kLoad);
}

// A read in state Evict doesn't lengthen the window, which begins with the write-back.
TEST_F(SpeculationBufferTest, ReadInStateEvictBeginsNoWindow) {
  evict(at_ns(0));
  buffer.read(kWatched, true, at_ns(159));
  EXPECT_EQ(persist(at_ns(160)), Verdict::kRight);
}

TEST_F(SpeculationBufferTest, StoreInStateEvictKeepsTheState) {
  evict(at_ns(0));
  EXPECT_EQ(persist(at_ns(10)), Verdict::kRight);
  buffer.read(kWatched, true, at_ns(20));
  EXPECT_EQ(persist(at_ns(30)), Verdict::kLoad) << "later stores may still be under way";
}

TEST_F(SpeculationBufferTest, StoreInStateEvictBeginsNoWindow) {
  evict(at_ns(0));
  EXPECT_EQ(persist(at_ns(100)), Verdict::kRight);
  buffer.read(kWatched, true, Time{159'999});
  EXPECT_EQ(persist(at_ns(160)), Verdict::kRight);
}

TEST_F(SpeculationBufferTest, StateEvictExpiresWithTheLastPicosecondOfItsWindow) {
  evict(at_ns(5));
  buffer.read(kWatched, true, Time{164'999});  // still there
  EXPECT_EQ(persist(Time{164'999}), Verdict::kLoad);
  evict(at_ns(1000));
  buffer.read(kWatched, true, at_ns(1160));  // gone
  EXPECT_EQ(buffer.entries(), 0);
  EXPECT_EQ(persist(at_ns(1160)), Verdict::kRight);
}

// ---- State Speculated

TEST_F(SpeculationBufferTest, WriteBackInStateSpeculatedBeginsANewWindow) {
  speculate(at_ns(0));
  evict(at_ns(100));
  EXPECT_EQ(persist(Time{259'999}), Verdict::kLoad)
      << "write-back, read, write-back, store is misspeculation all the same";
}

TEST_F(SpeculationBufferTest, ReadInStateSpeculatedKeepsTheState) {
  speculate(at_ns(0));
  buffer.read(kWatched, false, at_ns(10));
  EXPECT_EQ(persist(at_ns(20)), Verdict::kLoad) << "one of the two reads was stale";
}

TEST_F(SpeculationBufferTest, StoreInStateSpeculatedIsMisspeculationOnce) {
  speculate(at_ns(0));
  EXPECT_EQ(persist(at_ns(10)), Verdict::kLoad);
  EXPECT_EQ(persist(at_ns(11)), Verdict::kRight) << "back to Evict";
  buffer.read(kWatched, true, at_ns(12));
  EXPECT_EQ(persist(at_ns(13)), Verdict::kLoad) << "and from there again";
}

// The pattern matches although the read was right: all stores before the write-back had arrived.
TEST_F(SpeculationBufferTest, StoreAfterACorrectReadRaisesAFalseAlarm) {
  speculate(at_ns(0), false);
  EXPECT_EQ(persist(at_ns(10)), Verdict::kFalseLoad);
  buffer.read(kWatched, false, at_ns(12));
  EXPECT_EQ(persist(at_ns(13)), Verdict::kFalseLoad);
}

// A stale read before an alarm has no effect on the next alarm.
TEST_F(SpeculationBufferTest, AlarmForgetsEarlierStaleReads) {
  speculate(at_ns(0), true);
  EXPECT_EQ(persist(at_ns(10)), Verdict::kLoad);
  buffer.read(kWatched, false, at_ns(12));
  EXPECT_EQ(persist(at_ns(13)), Verdict::kFalseLoad);
}

TEST_F(SpeculationBufferTest, StateSpeculatedExpiresWithItsWindow) {
  speculate(at_ns(0));
  EXPECT_EQ(persist(at_ns(160)), Verdict::kRight);
  EXPECT_EQ(buffer.entries(), 0);
}

TEST_F(SpeculationBufferTest, EachLineHasItsOwnState) {
  speculate(at_ns(0));
  buffer.write_back(kUnwatched, at_ns(50));
  EXPECT_EQ(persist(kUnwatched, {}, at_ns(60)), Verdict::kRight);
  EXPECT_EQ(persist(at_ns(61)), Verdict::kLoad);
  EXPECT_EQ(buffer.entries(), 2);
}

// ---- Speculation IDs (5.2.2, 5.3)

// Figure 7: two threads store to a line under a lock, and the second one's store arrives first.
TEST_F(SpeculationBufferTest, StoreWithASmallerIdIsMisspeculation) {
  EXPECT_EQ(persist(kWatched, 2, at_ns(0)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 1, at_ns(10)), Verdict::kStore);
}

TEST_F(SpeculationBufferTest, StoresWithGrowingOrEqualIdsAreRight) {
  EXPECT_EQ(persist(kWatched, 1, at_ns(0)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 1, at_ns(10)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 2, at_ns(20)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 7, at_ns(30)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 6, at_ns(40)), Verdict::kStore) << "the largest stays";
  EXPECT_EQ(persist(kWatched, 7, at_ns(50)), Verdict::kRight) << "... that of the entry";
}

TEST_F(SpeculationBufferTest, StoresWithoutAnIdAreNotChecked) {
  persist(kWatched, 5, at_ns(0));
  EXPECT_EQ(persist(kWatched, {}, at_ns(10)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 4, at_ns(20)), Verdict::kStore)
      << "nor do they take the entry's ID away";
}

TEST_F(SpeculationBufferTest, TaggedStoreBeginsANewWindow) {
  persist(kWatched, 2, at_ns(0));
  persist(kWatched, 2, at_ns(100));
  EXPECT_EQ(persist(kWatched, 1, Time{259'999}), Verdict::kStore);
  EXPECT_EQ(persist(kWatched, 1, at_ns(260)), Verdict::kRight) << "the alarm has begun none";
}

TEST_F(SpeculationBufferTest, UntaggedStoreBeginsNoWindow) {
  persist(kWatched, 2, at_ns(0));
  persist(kWatched, {}, at_ns(100));
  EXPECT_EQ(persist(kWatched, 1, at_ns(160)), Verdict::kRight);
}

TEST_F(SpeculationBufferTest, IdsAreComparedModulo2To32) {
  constexpr std::uint32_t kLast = UINT32_MAX;
  EXPECT_EQ(persist(kWatched, kLast, at_ns(0)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 0, at_ns(10)), Verdict::kRight) << "0 comes after the last one";
  EXPECT_EQ(persist(kWatched, kLast, at_ns(20)), Verdict::kStore);
  EXPECT_EQ(persist(kWatched, 0x7fff'ffff, at_ns(30)), Verdict::kRight) << "half the circle away";
  EXPECT_EQ(persist(kWatched, 0xffff'fffe, at_ns(40)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 0x7fff'ffff, at_ns(50)), Verdict::kStore);
}

struct SpeculationBufferShortIds : SpeculationBufferTest {
  SpeculationBufferShortIds() {
    parameters.id_bits = 3;
    buffer = SpeculationBuffer(parameters, kWindow);
  }
};
TEST_F(SpeculationBufferShortIds, IdsAreComparedModuloTheirWidth) {
  EXPECT_EQ(persist(kWatched, 7, at_ns(0)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 0, at_ns(10)), Verdict::kRight) << "0 comes after the last one";
  EXPECT_EQ(persist(kWatched, 7, at_ns(20)), Verdict::kStore);
  EXPECT_EQ(persist(kWatched, 4, at_ns(30)), Verdict::kStore) << "half the circle away";
  EXPECT_EQ(persist(kWatched, 3, at_ns(40)), Verdict::kRight) << "less than that, the other way";
}

// Two locks that guard two words of a line.
TEST_F(SpeculationBufferTest, AlarmBetweenDifferentBytesIsFalse) {
  persist(kWatched, 2, at_ns(0), kSecondWord);
  EXPECT_EQ(persist(kWatched, 1, at_ns(10), kFirstWord), Verdict::kFalseStore);
  persist(kWatched, 2, at_ns(20), kFirstWord);  // the same ID: both words
  EXPECT_EQ(persist(kWatched, 1, at_ns(30), kFirstWord), Verdict::kStore);
  EXPECT_EQ(persist(kWatched, 1, at_ns(31), kSecondWord), Verdict::kStore);
  persist(kWatched, 3, at_ns(40), kFirstWord);  // a larger one: this word alone
  EXPECT_EQ(persist(kWatched, 2, at_ns(50), kSecondWord), Verdict::kFalseStore);
}

// The transition of the alarm that isn't reported takes place, too: the line stays in state Evict,
// and no alarm is raised twice.
TEST_F(SpeculationBufferTest, StoreThatRaisesBothAlarmsReportsTheStoreOrder) {
  persist(kWatched, 2, at_ns(0));
  speculate(at_ns(1));
  EXPECT_EQ(persist(kWatched, 1, at_ns(2)), Verdict::kStore);
  EXPECT_EQ(persist(at_ns(3)), Verdict::kRight);
}

// ---- More lines than entries (5.3)

TEST_F(SpeculationBufferTest, OverflowLastsUntilAWindowExpires) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    buffer.write_back({i}, at_ns(static_cast<std::int64_t>(i)));
  }
  EXPECT_FALSE(buffer.overflows(at_ns(4)));
  buffer.write_back({4}, at_ns(4));
  EXPECT_TRUE(buffer.overflows(at_ns(4)));
  EXPECT_EQ(buffer.next_expiry(), at_ns(160));
  EXPECT_TRUE(buffer.overflows(Time{159'999}));
  EXPECT_FALSE(buffer.overflows(at_ns(160)));
  EXPECT_EQ(buffer.next_expiry(), at_ns(161));
}

// A line without an entry waits in the controller's input, which is searched, too.
TEST_F(SpeculationBufferTest, LineWithoutAnEntryIsWatched) {
  for (std::uint64_t i = 0; i < 4; ++i) buffer.write_back({i}, at_ns(0));
  speculate(at_ns(1));
  ASSERT_TRUE(buffer.overflows(at_ns(1)));
  EXPECT_EQ(persist(at_ns(2)), Verdict::kLoad);
}

TEST_F(SpeculationBufferTest, ExpiredEntriesAreFreedForNewLines) {
  for (std::uint64_t i = 0; i < 4; ++i) buffer.write_back({i}, at_ns(0));
  buffer.write_back({4}, at_ns(160));
  EXPECT_EQ(buffer.entries(), 1);
  EXPECT_FALSE(buffer.overflows(at_ns(160)));
}

// ---- What makes entries

struct SpeculationBufferOfWriteBacks : SpeculationBufferTest {
  SpeculationBufferOfWriteBacks() {
    parameters.allocation = Allocation::kWriteBacks;
    buffer = SpeculationBuffer(parameters, kWindow);
  }
};

TEST_F(SpeculationBufferOfWriteBacks, MisspeculatedStoresAreMissed) {
  EXPECT_EQ(persist(kWatched, 2, at_ns(0)), Verdict::kRight);
  EXPECT_EQ(buffer.entries(), 0);
  EXPECT_EQ(persist(kWatched, 1, at_ns(10)), Verdict::kRight);
}

TEST_F(SpeculationBufferOfWriteBacks, MisspeculatedStoresOfAWrittenBackLineAreFound) {
  evict(at_ns(0));
  EXPECT_EQ(persist(kWatched, 2, at_ns(1)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 1, at_ns(2)), Verdict::kStore);
}

// ---- The naive scheme (5.1.2, 5.1.3)

struct NaiveSpeculationBuffer : SpeculationBufferTest {
  NaiveSpeculationBuffer() {
    parameters.detection = Detection::kFetches;
    buffer = SpeculationBuffer(parameters, kWindow);
  }
};

// Figure 4: a store that misses fetches its line, and arrives.
TEST_F(NaiveSpeculationBuffer, StoreToALineThatWasReadRaisesAFalseAlarm) {
  buffer.read(kWatched, false, at_ns(0));
  EXPECT_EQ(persist(Time{159'999}), Verdict::kFalseLoad);
  EXPECT_EQ(persist(Time{159'999}), Verdict::kRight) << "once";
}

TEST_F(NaiveSpeculationBuffer, WindowBeginsWithEachRead) {
  buffer.read(kWatched, true, at_ns(0));
  buffer.read(kWatched, false, at_ns(100));
  EXPECT_EQ(persist(Time{259'999}), Verdict::kLoad);
  buffer.read(kWatched, true, at_ns(300));
  EXPECT_EQ(persist(at_ns(460)), Verdict::kRight);
}

TEST_F(NaiveSpeculationBuffer, WriteBacksAreIgnored) {
  evict(at_ns(0));
  EXPECT_EQ(buffer.entries(), 0);
}

TEST_F(NaiveSpeculationBuffer, StoresInTheWrongOrderAreFound) {
  EXPECT_EQ(persist(kWatched, 2, at_ns(0)), Verdict::kRight);
  EXPECT_EQ(persist(kWatched, 1, at_ns(10)), Verdict::kStore);
}

// ---- Injected faults: a state is removed

struct ForgetfulSpeculationBuffer : SpeculationBufferTest {
  ForgetfulSpeculationBuffer() {
    parameters.faults.second_write_back = true;
    buffer = SpeculationBuffer(parameters, kWindow);
  }
};
TEST_F(ForgetfulSpeculationBuffer, StaleReadBeforeASecondWriteBackIsMissed) {
  speculate(at_ns(0));
  evict(at_ns(100));
  EXPECT_EQ(persist(at_ns(110)), Verdict::kRight);
  speculate(at_ns(120));
  EXPECT_EQ(persist(at_ns(130)), Verdict::kLoad) << "with nothing between it is found";
}

struct SatisfiedSpeculationBuffer : SpeculationBufferTest {
  SatisfiedSpeculationBuffer() {
    parameters.faults.early_store = true;
    buffer = SpeculationBuffer(parameters, kWindow);
  }
};
TEST_F(SatisfiedSpeculationBuffer, StoreHidesTheReadAfterIt) {
  evict(at_ns(0));
  EXPECT_EQ(persist(at_ns(10)), Verdict::kRight);
  buffer.read(kWatched, true, at_ns(20));
  EXPECT_EQ(persist(at_ns(30)), Verdict::kRight);
  speculate(at_ns(40));
  EXPECT_EQ(persist(at_ns(50)), Verdict::kLoad) << "with nothing between it is found";
}

// ---- Without a window (injected fault pmem_spec.window)

struct NoSpeculationWindow : SpeculationBufferTest {
  NoSpeculationWindow() { buffer = SpeculationBuffer(parameters, {}); }
};

TEST_F(NoSpeculationWindow, NoMisspeculationIsDetected) {
  speculate(at_ns(0));
  EXPECT_EQ(persist(at_ns(0)), Verdict::kRight);
  persist(kWatched, 2, at_ns(1));
  EXPECT_EQ(persist(kWatched, 1, at_ns(1)), Verdict::kRight);
}

}  // namespace
}  // namespace pmemsim
