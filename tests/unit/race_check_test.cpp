// Rules P12 and P13: races that another order of the threads would show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "checked_trace.hpp"

namespace pmemsim::check {
namespace {

constexpr std::uint32_t kLink = 0, kFlag = 1;  // Objects of atomic variables
constexpr std::uint64_t kTag = 1;

// Thread 0 stores a tagged pointer to kLine, persists it, and clears the tag. Thread 1 has read the
// untagged pointer in the recording.
struct TaggedLink : CheckedTrace {
  const std::uint32_t publish = at(15, SiteKind::kAtomicStore, 8);
  const std::uint32_t read_link = at(55, SiteKind::kAtomicLoad, 8);
  const std::uint32_t read_flag = at(56, SiteKind::kAtomicLoad, 8);
  const std::uint32_t test_link = at(57, SiteKind::kBranch, 0);
  const std::uint32_t test_elsewhere = at(58, SiteKind::kBranch, 0, 0, 0, "another");
  const std::uint32_t made = at(12, SiteKind::kStore, 8, 0, 0, "work", {(read_link << 8) | 1});
  const std::uint32_t target =
      site(SiteKind::kLoad, 8, 1, {(read_link << 8) | 1}, {}, 0, 0, {"mine.c", "work", 59});
  const std::uint32_t made_of_target =
      at(13, SiteKind::kStore, 8, 0, 0, "work", {(target << 8) | 1});

  TaggedLink() {
    persist(kThird);
    atomic(publish, kLine, kLink, 1, kThird | kTag);
    clwb(kLine);
    sfence();
    atomic(publish, kLine, kLink, 2, kThird);
  }
  // Thread 0 announces that the pointer is persistent.
  void announce() { atomic(publish, kHeapWord, kFlag, 1, 1); }
  void read() { atomic(read_link, kLine, kLink, 2); }
  void see_announcement() { atomic(read_flag, kHeapWord, kFlag, 1); }
  void depend() {
    store(made, kOther, 1);
    clwb(kOther);
    sfence();
  }
  // The findings of this rule: a note of P1 says that the cleared tags are never flushed.
  Found races() {
    Found found = check();
    std::erase(found, "never-flushed:tag_bits 15");
    return found;
  }
};

TEST(RaceCheck, LoadBetweenStoreAndFenceInAnotherOrderIsReported) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.depend();
  EXPECT_EQ(trace.races(), Found{"could-read-unpersisted 55/12"});
}

TEST(RaceCheck, FindingNamesTheStoreTheFenceAndTheOperationToHold) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.depend();
  const Report report = trace.report();
  const auto found =
      std::ranges::find(report.findings, Kind::kCouldReadUnpersisted, &Finding::kind);
  ASSERT_NE(found, report.findings.end());
  ASSERT_TRUE(found->order);
  EXPECT_EQ(found->order->store.line, 15u);
  EXPECT_EQ(found->order->fence.line, 30u);
  EXPECT_EQ(found->order->thread, 0u);
  EXPECT_EQ(found->order->operation, 3u);
  EXPECT_EQ(found->thread, 1u);
}

TEST(RaceCheck, LoadAfterAnAnnouncementOfTheFenceIsNotReported) {
  TaggedLink trace;
  trace.announce();
  trace.thread(1);
  trace.see_announcement();
  trace.read();
  trace.depend();
  EXPECT_EQ(trace.races(), Found{});
}

TEST(RaceCheck, DependentStoreAfterAnAnnouncementOfTheFenceIsNotReported) {
  TaggedLink trace;
  trace.announce();
  trace.thread(1);
  trace.read();
  trace.see_announcement();
  trace.depend();
  EXPECT_EQ(trace.races(), Found{});
}

TEST(RaceCheck, AnnouncementBeforeTheStoreDoesNotOrderItsFence) {
  TaggedLink trace;
  trace.announce();
  trace.atomic(trace.publish, kLine, kLink, 3, (kThird + 64) | kTag);
  trace.clwb(kLine);
  trace.sfence();
  trace.atomic(trace.publish, kLine, kLink, 4, kThird + 64);
  trace.thread(1);
  trace.see_announcement();
  trace.atomic(trace.read_link, kLine, kLink, 4);
  trace.depend();
  EXPECT_EQ(trace.races(), Found{"could-read-unpersisted 55/12"});
}

TEST(RaceCheck, ReaderThatPersistsWhatItReadsIsNotReported) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.clwb(kLine);
  trace.sfence();
  trace.depend();
  EXPECT_EQ(trace.races(), Found{});
}

TEST(RaceCheck, ReaderThatSometimesPersistsWhatItReadsIsANote) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.depend();
  trace.thread(2);
  trace.read();
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.races(), Found{"could-read-unpersisted:unseen_path 55/12"});
}

TEST(RaceCheck, BranchThatHasGoneOneWayMakesTheFindingANote) {
  for (const bool both : {false, true}) {
    TaggedLink trace;
    trace.thread(1);
    if (both) trace.branch(trace.test_link, true);
    trace.read();
    trace.branch(trace.test_link, false);
    trace.depend();
    EXPECT_EQ(trace.races(), both ? Found{"could-read-unpersisted 55/12"}
                                  : Found{"could-read-unpersisted:unseen_path 55/12"});
  }
}

TEST(RaceCheck, BranchOfAnotherFunctionMakesTheFindingANote) {
  TaggedLink trace;
  trace.thread(1);
  trace.branch(trace.test_elsewhere, true);
  trace.read();
  trace.branch(trace.test_elsewhere, false);
  trace.depend();
  EXPECT_EQ(trace.races(), Found{"could-read-unpersisted:unseen_path 55/12"});
}

TEST(RaceCheck, StoreOfDataReadThroughTheLoadedPointerIsReported) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.access(trace.target, kThird);
  trace.store(trace.made_of_target, kOther, 1);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.races(), Found{"could-read-unpersisted 55/13"});
}

TEST(RaceCheck, StoreThatDoesNotDependOnTheLoadIsNotReported) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.persist(kOther);
  EXPECT_EQ(trace.races(), Found{});
}

TEST(RaceCheck, DependentStoreInARegionIsNotReported) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.begin();
  trace.log(kOther);
  trace.depend();
  trace.end();
  EXPECT_EQ(trace.races(), Found{});
}

TEST(RaceCheck, EadrHasNoRaces) {
  TaggedLink trace;
  trace.thread(1);
  trace.read();
  trace.depend();
  EXPECT_EQ(trace.check({.eadr = true}), Found{});
}

// Thread 0 persists a word by plain accesses, and thread 1 loads it without synchronisation.
struct PlainRace : CheckedTrace {
  const std::uint32_t made = at(12, SiteKind::kStore, 8, 0, 0, "work", {(load_site << 8) | 1});

  PlainRace() {
    persist(kLine);
    end_turn(0);
    thread(1);
    access(load_site, kLine);
    store(made, kOther, 1);
    clwb(kOther);
    sfence();
    end_turn(1);
  }
};

TEST(RaceCheck, PlainLoadThatTheRecordingOrdersIsReported) {
  PlainRace trace;
  trace.race({.number = 0, .count = 1, .thread = 1, .other = 0});
  EXPECT_EQ(trace.check(), Found{"could-read-unpersisted 50/12"});
}

TEST(RaceCheck, LoadOfOtherBytesOfTheWordIsNotReported) {
  for (const std::uint64_t offset : {0, 4}) {
    CheckedTrace trace;
    const std::uint32_t store = trace.at(16, SiteKind::kStore, 4);
    const std::uint32_t load = trace.at(52, SiteKind::kLoad, 4);
    const std::uint32_t made = trace.at(12, SiteKind::kStore, 8, 0, 0, "work", {(load << 8) | 1});
    trace.store(store, kLine, 1);
    trace.clwb(kLine);
    trace.sfence();
    trace.end_turn(0);
    trace.thread(1);
    trace.access(load, kLine + offset);
    trace.store(made, kOther, 1);
    trace.clwb(kOther);
    trace.sfence();
    trace.end_turn(1);
    trace.race({.number = 0, .count = 1, .thread = 1, .other = 0});
    EXPECT_EQ(trace.check(), offset == 0 ? Found{"could-read-unpersisted 52/12"} : Found{});
  }
}

// The recorded order of the accesses is unknown.
TEST(RaceCheck, PlainLoadOfARecordingWithoutRacesIsNotReported) {
  PlainRace trace;
  EXPECT_EQ(trace.check(), Found{});
}

TEST(RaceCheck, PlainLoadThatWaitsForAnAccessAfterTheFenceIsNotReported) {
  CheckedTrace trace;
  const std::uint32_t read_flag = trace.at(52, SiteKind::kLoad, 8);
  const std::uint32_t made =
      trace.at(12, SiteKind::kStore, 8, 0, 0, "work", {(trace.load_site << 8) | 1});
  trace.persist(kLine);
  trace.put(kHeapWord);
  trace.end_turn(0);
  trace.thread(1);
  trace.access(read_flag, kHeapWord);
  trace.access(trace.load_site, kLine);
  trace.store(made, kOther, 1);
  trace.clwb(kOther);
  trace.sfence();
  trace.end_turn(1);
  trace.race({.number = 0, .count = 4, .thread = 1, .other = 0});
  EXPECT_EQ(trace.check(), Found{});
}

// Both threads add to a word; thread 0's update is first in the recording.
struct TwoUpdates : CheckedTrace {
  const std::uint32_t sum = at(12, SiteKind::kStore, 8, 0, 0, "work", {(load_site << 8) | 1});

  void add(std::uint64_t value) {
    access(load_site, kLine);
    store(sum, kLine, value);
    clwb(kLine);
    sfence();
  }
};

TEST(RaceCheck, UpdateBetweenAnotherThreadsLoadAndStoreIsReported) {
  TwoUpdates trace;
  trace.add(1);
  trace.end_turn(0);
  trace.thread(1);
  trace.add(2);
  trace.end_turn(1);
  trace.race({.number = 0, .count = 2, .thread = 1, .other = 0});
  const Report report = trace.report();
  ASSERT_EQ(trace.check(), Found{"could-lose-update 50/12"});
  EXPECT_EQ(report.findings[0].order->thread, 0u);
  EXPECT_EQ(report.findings[0].order->operation, 0u);
}

TEST(RaceCheck, UpdatesUnderOneLockAreNotReported) {
  TwoUpdates trace;
  trace.sync(SyncKind::kMutexLock, kLockWord, 0, 0);
  trace.add(1);
  trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 1);
  trace.end_turn(0);
  trace.thread(1);
  trace.sync(SyncKind::kMutexLock, kLockWord, 0, 1);
  trace.add(2);
  trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 2);
  trace.end_turn(1);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(RaceCheck, UpdateAfterAStoreThatDependsOnNoLoadIsNotReported) {
  TwoUpdates trace;
  trace.persist(kLine);
  trace.end_turn(0);
  trace.thread(1);
  trace.add(2);
  trace.end_turn(1);
  trace.race({.number = 0, .count = 1, .thread = 1, .other = 0});
  EXPECT_EQ(trace.check(), Found{});
}

}  // namespace
}  // namespace pmemsim::check
