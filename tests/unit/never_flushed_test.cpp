// Rule P1 of a program's check: every location of an unflushed store is listed, and stores that
// a correct program may have are notes.
#include "pmemsim/checks/rules/never_flushed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checked_trace.hpp"

namespace pmemsim::check {
namespace {

// ---- All locations

TEST(NeverFlushed, EachOfManyStoresToOneLineIsReported) {
  CheckedTrace trace;
  Found expected;
  for (std::uint32_t line = 100; line < 180; ++line) {
    trace.store(trace.at(line, SiteKind::kStore, 8), kLine + line % 8 * 8, 7);
    expected.push_back("never-flushed " + std::to_string(line));
  }
  EXPECT_EQ(trace.check(), expected);
}

TEST(NeverFlushed, StoreExecutedManyTimesCountsOncePerCacheLine) {
  CheckedTrace trace;
  std::vector<std::uint32_t> sites;
  for (std::uint32_t line = 100; line < 130; ++line) {
    sites.push_back(trace.at(line, SiteKind::kStore, 8));
  }
  for (int round = 0; round < 20; ++round) {
    for (const std::uint32_t site : sites) trace.store(site, kLine, 7);
  }
  const std::vector<Finding> findings = trace.report().findings;
  ASSERT_EQ(findings.size(), 30);
  for (std::uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(findings[i].count, 1);
    EXPECT_EQ(findings[i].operation, i);
  }
}

// Stores to kLine + 8 * i through helper() from line 91 + i of its caller.
void store_through_helper(CheckedTrace& trace, std::uint32_t callers) {
  const std::uint32_t call = trace.inlined_call({"mine.c", "main", 80});
  for (std::uint32_t i = 0; i < callers; ++i) {
    const std::uint32_t site = trace.at(90, SiteKind::kStore, 8, 0, 0, "helper");
    trace.inlined(site, trace.inlined_call({"mine.c", "caller", 91 + i}, call));
    trace.store(site, kLine + 8 * i, 7);
  }
}

TEST(NeverFlushed, EachCallerOfOneStoreIsReported) {
  CheckedTrace trace;
  store_through_helper(trace, 5);
  const std::vector<Finding> findings = trace.report().findings;
  ASSERT_EQ(findings.size(), 5);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(findings[i].place.line, 90);
    EXPECT_EQ(findings[i].calls[0].line, 91 + i);
  }
}

TEST(NeverFlushed, OuterCallersAreListedApartOnlyIfEachPathIsRequested) {
  CheckedTrace trace;
  for (std::uint32_t outer = 80; outer < 83; ++outer) {
    const std::uint32_t site = trace.at(90, SiteKind::kStore, 8, 0, 0, "helper");
    const std::uint32_t call = trace.inlined_call({"mine.c", "main", outer});
    trace.inlined(site, trace.inlined_call({"mine.c", "caller", 91}, call));
    trace.store(site, kLine + 64 * outer, 7);
  }
  EXPECT_EQ(trace.check(), Found{"never-flushed 90 x3"});
  EXPECT_EQ(trace.check({.each_path = true}),
            (Found{"never-flushed 90", "never-flushed 90", "never-flushed 90"}));
}

TEST(NeverFlushed, StoreBehindAReportedLateStoreIsReported) {
  CheckedTrace trace;
  const std::uint32_t third = trace.at(12, SiteKind::kStore, 8);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.sfence();
  trace.store(third, kLine + 16, 1);
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), (Found{"never-flushed 12", "stored-after-flush 11/20"}));
}

TEST(StoredAfterFlush, EachStoreBetweenFlushAndFenceIsReported) {
  CheckedTrace trace;
  const std::uint32_t third = trace.at(12, SiteKind::kStore, 8);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.store(third, kLine + 16, 1);
  trace.sfence();
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), (Found{"stored-after-flush 11/20", "stored-after-flush 12/20"}));
}

TEST(PublishedUnflushed, EachStoreToTheNewLineIsReported) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.put(kLine);
  trace.store(trace.second, kLine + 8, 1);
  const std::uint32_t pointer = trace.at(13, SiteKind::kStore, 8);
  trace.store(pointer, kOther, kLine);
  trace.clwb(kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(),
            (Found{"published-unflushed:published 10/13", "published-unflushed:published 11/13"}));
}

TEST(NotLogged, EachStoreToAnUndeclaredLineIsReported) {
  CheckedTrace trace;
  trace.begin();
  trace.put(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.end();
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), (Found{"not-logged 10", "not-logged 11"}));
}

// ---- N1: tag bits

TEST(TagBits, StoreThatClearsOnlyTagsOfAPersistentPointerIsANote) {
  CheckedTrace trace;
  trace.persist(kOther, kLine + 1);
  trace.store(trace.second, kOther, kLine);
  EXPECT_EQ(trace.check(), Found{"never-flushed:tag_bits 11"});
}

TEST(TagBits, HighTagsCountToo) {
  CheckedTrace trace;
  trace.persist(kOther, kLine | std::uint64_t{5} << 60);
  trace.store(trace.second, kOther, kLine);
  EXPECT_EQ(trace.check(), Found{"never-flushed:tag_bits 11"});
}

TEST(TagBits, StoreThatSetsATagIsReported) {
  CheckedTrace trace;
  trace.persist(kOther, kLine);
  trace.store(trace.second, kOther, kLine + 1);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(TagBits, StoreThatChangesTheAddressIsReported) {
  CheckedTrace trace;
  trace.persist(kOther, kLine + 9);
  trace.store(trace.second, kOther, kLine);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(TagBits, StoreBeforeThePointerIsPersistentIsReported) {
  CheckedTrace trace;
  trace.put(kOther, kLine + 1);
  trace.store(trace.second, kOther, kLine);
  EXPECT_EQ(trace.check(), (Found{"never-flushed 10", "never-flushed 11"}));
}

// Thread 0's fence is not before thread 1's operations.
TEST(TagBits, ThreadThatHasFencedThePointerAgainMayClearItsTags) {
  for (const bool fences : {true, false}) {
    CheckedTrace trace;
    trace.put(kOther, kLine + 1);
    trace.clwb(kOther);
    trace.hand_over();
    if (fences) {
      trace.clwb(kOther);
      trace.sfence();
    }
    trace.store(trace.second, kOther, kLine);
    trace.thread(0);
    trace.sfence();
    EXPECT_EQ(trace.check(), Found{fences ? "never-flushed:tag_bits 11" : "never-flushed 11"});
  }
}

TEST(TagBits, NumberOutsidePmHasNoTags) {
  CheckedTrace trace;
  trace.persist(kOther, kHeapWord + 1);
  trace.store(trace.second, kOther, kHeapWord);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(TagBits, FlushOfClearedTagsIsNotUseless) {
  CheckedTrace trace;
  trace.persist(kOther, kLine + 1);
  trace.store(trace.second, kOther, kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

// ---- N2: sequence words

struct Seqlock : CheckedTrace {
  const std::uint32_t opening = at(80, SiteKind::kAtomicUpdate, 8);
  const std::uint32_t closing = at(81, SiteKind::kAtomicUpdate, 8);

  void bump(std::uint32_t site, std::uint64_t value) {
    atomic(site, kOther, 0, ++version_, value, true);
  }

 private:
  std::uint32_t version_ = 0;
};

TEST(SequenceWord, StoresOfASeqlockAreNotes) {
  Seqlock trace;
  for (std::uint64_t i = 0; i < 3; ++i) {
    trace.bump(trace.opening, 2 * i + 1);
    trace.persist(kLine, i + 1);  // Increments another word
    trace.bump(trace.closing, 2 * i + 2);
  }
  EXPECT_EQ(trace.check(), (Found{"never-flushed:sequence 80", "never-flushed:sequence 81"}));
}

TEST(SequenceWord, CounterThatOneSourceLineChangesIsNoSequenceWord) {
  Seqlock trace;
  for (std::uint64_t i = 1; i < 7; ++i) {
    trace.persist(kLine, i);
    trace.bump(trace.opening, i);
  }
  EXPECT_EQ(trace.check(), Found{"never-flushed 80"});
}

// A compiler that unrolls a loop makes several sites and inlined calls of one source line.
TEST(SequenceWord, CounterOfAnUnrolledLoopIsReported) {
  Seqlock trace;
  std::uint32_t sites[2];
  for (std::uint32_t& site : sites) {
    site = trace.at(85, SiteKind::kAtomicUpdate, 8, 0, 0, "push");
    trace.inlined(site, trace.inlined_call({"mine.c", "main", 90}));
  }
  for (std::uint64_t i = 1; i < 7; ++i) {
    trace.bump(sites[i % 2], i);
    trace.persist(kLine, i);
  }
  EXPECT_EQ(trace.check(), Found{"never-flushed 85"});
}

TEST(SequenceWord, PairWithoutAStoreBetweenIsReported) {
  Seqlock trace;
  trace.bump(trace.opening, 1);
  trace.bump(trace.closing, 2);
  EXPECT_EQ(trace.check(), (Found{"never-flushed 80", "never-flushed 81"}));
}

TEST(SequenceWord, WordWithAnotherStoreIsReported) {
  Seqlock trace;
  trace.bump(trace.opening, 1);
  trace.persist(kLine);
  trace.bump(trace.closing, 2);
  trace.bump(trace.closing, 40);
  EXPECT_EQ(trace.check(), (Found{"never-flushed 80", "never-flushed 81"}));
}

// ---- N3, and freed memory

constexpr std::uint64_t kBetween = kLine + 256, kBehind = kBetween + 128;

// Objects at kLine and kBehind, to which pointers at kOther lead. Between them, and right before
// kBehind, is memory of two lines.
struct Objects : CheckedTrace {
  Objects() {
    persist(kLine);
    persist(kBehind);
    persist(kOther, kLine);
    persist(kOther + 8, kBehind);
  }
  void store_between() {
    store(second, kBetween, 7);
    store(second, kBetween + 64, 7);
  }
};

TEST(Unreferenced, StoreToMemoryThatNothingLeadsToIsANote) {
  Objects trace;
  trace.store_between();
  EXPECT_EQ(trace.check(), Found{"never-flushed:unreferenced 11 x2"});
}

TEST(Unreferenced, StoreIsReportedIfAPointerLeadsToItsRun) {
  Objects trace;
  trace.persist(kOther + 16, kBetween + 64);
  trace.store_between();
  EXPECT_EQ(trace.check(), Found{"never-flushed 11 x2"});
}

TEST(Unreferenced, PointerRightBehindTheRunLeadsElsewhere) {
  Objects trace;
  trace.persist(kOther + 16, kBetween + 64);
  trace.store(trace.second, kBetween, 7);
  EXPECT_EQ(trace.check(), Found{"never-flushed:unreferenced 11"});
}

TEST(Unreferenced, StoreIsReportedIfAnOffsetLeadsToIt) {
  Objects trace;
  trace.persist(kOther + 16, kBetween - kPmBase);
  trace.store_between();
  EXPECT_EQ(trace.check(), Found{"never-flushed 11 x2"});
}

TEST(Unreferenced, StoreIsReportedIfItsMemoryWasLoaded) {
  Objects trace;
  trace.access(trace.load_site, kBetween + 8);
  trace.store_between();
  EXPECT_EQ(trace.check(), Found{"never-flushed 11 x2"});
}

// An array's element, for example: the program has pointers to the array and to other objects.
TEST(Unreferenced, StoreIsReportedIfNoObjectBeginsInTheNextLine) {
  Objects trace;
  trace.store(trace.second, kBetween, 7);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(Unreferenced, StoreIsReportedIfNoObjectIsBelow) {
  Objects trace;
  trace.persist(kOther + 16, kLine - 64);
  trace.store(trace.second, kLine - 128, 7);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(Unreferenced, StoreIsReportedIfOneOfItsRunsIsReferenced) {
  Objects trace;
  trace.store(trace.second, kLine + 8, 7);
  trace.store_between();
  EXPECT_EQ(trace.check(), Found{"never-flushed 11 x3"});
}

// The same objects, to which the words lead that one source line stores at kOther.
struct Numbers : CheckedTrace {
  Numbers() {
    persist(kLine);
    persist(kBehind);
  }
  void persist_number(std::uint64_t number) {
    store(site_, kOther + 8 * count_++, number);
    clwb(kOther);
    sfence();
  }
  void persist_offsets() {
    persist_number(kLine - kPmBase);
    persist_number(kBehind - kPmBase);
  }
  Found found() {
    store(second, kBetween, 7);
    store(second, kBetween + 64, 7);
    return check();
  }

 private:
  const std::uint32_t site_ = at(70, SiteKind::kStore, 8);
  std::uint32_t count_ = 0;
};
const Found kNote{"never-flushed:unreferenced 11 x2"}, kReported{"never-flushed 11 x2"};

TEST(Unreferenced, OffsetsLeadToObjects) {
  Numbers trace;
  trace.persist_offsets();
  trace.persist_number(0);
  trace.persist_number(kLine | std::uint64_t{1} << 60 | 1);  // a pointer with tag bits
  EXPECT_EQ(trace.found(), kNote);
}

// Texts, counters, sizes, keys.
TEST(Unreferenced, NumbersThatMayBeOffsetsByAccidentLeadNowhere) {
  const std::uint64_t region = 1 << 20;
  for (const std::uint64_t other : {std::uint64_t{1}, std::uint64_t{8}, kBehind - kPmBase + 4,
                                    kBehind - kPmBase + 64, region, region + 8}) {
    Numbers before, after;
    before.persist_number(other);
    before.persist_offsets();
    EXPECT_EQ(before.found(), kReported) << other;
    after.persist_offsets();
    after.persist_number(other);
    EXPECT_EQ(after.found(), kReported) << other;
  }
}

TEST(Unreferenced, OffsetOfMemoryNotYetStoredToLeadsNowhere) {
  CheckedTrace trace;
  const std::uint32_t size = trace.at(70, SiteKind::kStore, 8);
  trace.persist(kLine);
  for (const std::uint64_t target : {kLine, kBehind}) {
    trace.store(size, kOther, target - kPmBase);
    trace.clwb(kOther);
    trace.sfence();
  }
  trace.persist(kBehind);
  trace.store(trace.second, kBetween, 7);
  trace.store(trace.second, kBetween + 64, 7);
  EXPECT_EQ(trace.check(), kReported);
}

// ---- N8: home locations of a redo log

Found without_costs(Found found) {
  std::erase_if(found, [](const std::string& each) { return each.starts_with("useless-"); });
  return found;
}

// A log at kOther whose entries are a number and a value, and home locations at kLine. `stride` is
// the distance of homes in bytes; numbers are `base` + `step` * i.
struct LoggedHomes : CheckedTrace {
  std::uint64_t base = kLine, step = 64;

  explicit LoggedHomes(std::uint64_t b = kLine, std::uint64_t s = 64) : base(b), step(s) {}

  void append(std::uint64_t i, std::uint64_t value, bool flushed = true) {
    const std::uint64_t entry = kOther + 64 + 16 * used_++;
    store(number_, entry, base + step * i);
    store(value_, entry + 8, value);
    if (flushed) clwb(entry);
    sfence();
    store(count_, kOther, used_);
    clwb(kOther);
    sfence();
  }
  void apply(std::uint64_t i, std::uint64_t value) { store(second, home(i), value); }
  void update(std::uint64_t i, std::uint64_t value) {
    append(i, value);
    apply(i, value);
  }
  void clear() {
    used_ = 0;
    store(clear_, kOther, 0);
    clwb(kOther);
    sfence();
  }
  void checkpoint(std::uint64_t homes) {
    for (std::uint64_t i = 0; i < homes; ++i) clwb(home(i));
    sfence();
    clear();
  }
  static std::uint64_t home(std::uint64_t i) { return kLine + 64 * i; }

 private:
  const std::uint32_t number_ = at(70, SiteKind::kStore, 8);
  const std::uint32_t value_ = at(71, SiteKind::kStore, 8);
  const std::uint32_t count_ = at(72, SiteKind::kStore, 8);
  const std::uint32_t clear_ = at(73, SiteKind::kStore, 8);
  std::uint64_t used_ = 0;
};
const Found kRedoLogged{"never-flushed:redo_log 11 x4"}, kNotRedoLogged{"never-flushed 11 x4"};

TEST(RedoLogNote, HomesOfPersistentEntriesAreNotes) {
  // Addresses, offsets in the PM region, and indices
  for (const auto& [base, step] : {std::pair{kLine, std::uint64_t{64}},
                                   {kLine - kPmBase, std::uint64_t{64}},
                                   {std::uint64_t{5}, std::uint64_t{1}}}) {
    LoggedHomes trace(base, step);
    for (std::uint64_t i = 0; i < 4; ++i) trace.update(i, 900 + i);
    EXPECT_EQ(trace.check(), kRedoLogged) << base;
  }
}

TEST(RedoLogNote, HomesThatNoEntryDeterminesAreReported) {
  LoggedHomes trace(3, 0);  // the same number in all entries
  for (std::uint64_t i = 0; i < 4; ++i) trace.update(i, 900 + i);
  EXPECT_EQ(trace.check(), kNotRedoLogged);
  LoggedHomes two_indices(5, 1);
  for (std::uint64_t i = 0; i < 4; ++i) two_indices.update(i % 2, 900 + i);
  EXPECT_EQ(two_indices.check(), Found{"never-flushed 11 x2"});
}

TEST(RedoLogNote, HomeIsReportedIfItsEntryIsNotPersistentBefore) {
  LoggedHomes late;
  for (std::uint64_t i = 0; i < 4; ++i) {
    late.apply(i, 900 + i);
    late.append(i, 900 + i);
  }
  EXPECT_EQ(late.check(), kNotRedoLogged);
  LoggedHomes unflushed;
  for (std::uint64_t i = 0; i < 4; ++i) {
    unflushed.append(i, 900 + i, false);
    unflushed.apply(i, 900 + i);
  }
  const Found found = without_costs(unflushed.check());
  EXPECT_EQ(found.front(), "never-flushed 11 x4");
  EXPECT_EQ(found.size(), 3);  // also the entries
}

TEST(RedoLogNote, EntryThatIsPersistentOnlyAfterTheLogsCountIsReported) {
  for (const bool fenced : {true, false}) {
    CheckedTrace trace;
    const std::uint32_t number = trace.at(70, SiteKind::kStore, 8);
    const std::uint32_t count = trace.at(72, SiteKind::kStore, 8);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uint64_t entry = kOther + 64 * (i + 1);
      trace.store(number, entry, kLine + 64 * i);
      trace.store(number, entry + 8, 900 + i);
      trace.clwb(entry);
      if (fenced) trace.sfence();
      trace.store(count, kOther, i + 1);
      trace.clwb(kOther);
      trace.sfence();
      trace.store(trace.second, kLine + 64 * i, 900 + i);
    }
    EXPECT_EQ(trace.check(), fenced ? kRedoLogged : kNotRedoLogged);
  }
}

TEST(RedoLogNote, OtherValueThanTheLoggedOneIsReported) {
  LoggedHomes trace;
  for (std::uint64_t i = 0; i < 4; ++i) {
    trace.append(i, 900 + i);
    trace.apply(i, 800 + i);
  }
  EXPECT_EQ(trace.check(), kNotRedoLogged);
}

TEST(RedoLogNote, HomesThatAreNotFlushedBeforeTheLogIsClearedAreReported) {
  for (const bool flushes : {true, false}) {
    LoggedHomes trace;
    for (std::uint64_t i = 0; i < 4; ++i) trace.update(i, 900 + i);
    trace.checkpoint(flushes ? 4 : 0);
    EXPECT_EQ(without_costs(trace.check()), flushes ? Found{} : kNotRedoLogged);
    for (std::uint64_t i = 0; i < 4; ++i) trace.update(4 + i, 800 + i);
    EXPECT_EQ(without_costs(trace.check()), flushes ? kRedoLogged : Found{"never-flushed 11 x8"});
  }
}

TEST(RedoLogNote, EntryThatIsOverwrittenIsNoCopy) {
  LoggedHomes trace;
  for (std::uint64_t i = 0; i < 4; ++i) trace.update(i, 900 + i);
  trace.store(trace.at(70, SiteKind::kStore, 8), kOther + 64 + 8, 3);
  trace.clwb(kOther + 64);
  trace.sfence();
  EXPECT_EQ(trace.check(), kNotRedoLogged);
}

// A vector of nodes that are linked, too.
TEST(RedoLogNote, AdjacentPointersAreNoLog) {
  CheckedTrace trace;
  for (std::uint64_t i = 0; i < 4; ++i) {
    trace.persist(kOther + 8 * i, kLine + 64 * i);
    if (i > 0) trace.store(trace.second, kLine + 64 * (i - 1), kLine + 64 * i);
  }
  EXPECT_EQ(trace.check(), Found{"never-flushed 11 x3"});
}

TEST(RedoLogNote, PointerToALoggedHomeThatWasNeverFlushedIsANote) {
  for (const bool logged : {true, false}) {
    LoggedHomes trace;
    trace.update(8, 1);
    trace.update(9, 1);
    trace.clwb(LoggedHomes::home(8));
    trace.clwb(LoggedHomes::home(9));
    trace.sfence();
    trace.clear();
    trace.append(0, 900);
    trace.apply(0, logged ? 900 : 800);
    trace.update(0, 901);
    const std::string reason = logged ? "redo_log" : "published";
    EXPECT_EQ(trace.check(),
              (Found{"never-flushed:redo_log 11", "published-unflushed:" + reason + " 11/70"}));
  }
}

// ---- N9: links of free lists

constexpr std::uint64_t block_at(std::uint64_t i) { return kLine + 64 * i; }

// Blocks at kLine, which pointers at kOther lead to while they are in use. A free block has a
// pointer to the next free one.
struct SlabTrace : CheckedTrace {
  explicit SlabTrace(bool links_by_address = true) : base_(links_by_address ? 0 : kPmBase) {
    for (std::uint64_t i = 8; i > 0; --i) give(i - 1);
  }
  void give(std::uint64_t i) {
    store(second, block_at(i), free_.empty() ? 0 : block_at(free_.back()) - base_);
    free_.push_back(i);
  }
  std::uint64_t take() {
    const std::uint64_t i = free_.back();
    free_.pop_back();
    return i;
  }
  void use(std::uint64_t slot) {
    const std::uint64_t i = take();
    store(store_site, block_at(i) + 8, 7);
    clwb(block_at(i));
    sfence();
    store(slot_, kOther + 8 * slot, block_at(i) - base_);
    clwb(kOther);
    sfence();
    if (used_[slot] < 8) give(used_[slot]);
    used_[slot] = i;
  }
  void run() {
    for (std::uint64_t i = 0; i < 6; ++i) use(i % 3);
  }

  const std::uint32_t slot_ = at(74, SiteKind::kStore, 8);

 private:
  const std::uint64_t base_;
  std::vector<std::uint64_t> free_;
  std::uint64_t used_[3] = {8, 8, 8};
};
// The free blocks' links, of which the last is zero
const Found kFreeLinks{"never-flushed:free_list 11 x5"};

TEST(FreeListNote, LinksOfUnreachableBlocksAreNotes) {
  SlabTrace addresses, offsets(false);
  addresses.run();
  offsets.run();
  EXPECT_EQ(without_costs(addresses.check()),
            (Found{kFreeLinks.front(), "published-unflushed:undo_log 11/11 x2",
                   "published-unflushed:free_list 11/11"}));
  EXPECT_EQ(offsets.check(), kFreeLinks);
}

TEST(FreeListNote, LinksAreReportedIfAFlushedPointerLeadsToOneOfThem) {
  SlabTrace trace;
  trace.run();
  trace.store(trace.slot_, kOther + 64, block_at(7));
  trace.clwb(kOther + 64);
  trace.sfence();
  EXPECT_EQ(trace.check().front(), "never-flushed 11 x5");
}

TEST(FreeListNote, LinksAreReportedIfTheListsHeadIsPersistent) {
  SlabTrace trace;
  trace.run();
  trace.store(trace.at(75, SiteKind::kStore, 8), kThird, block_at(trace.take()));
  trace.clwb(kThird);
  trace.sfence();
  EXPECT_EQ(trace.check().front(), "never-flushed 11 x5");
}

TEST(FreeListNote, HeadThatIsNeverFlushedIsANote) {
  for (const bool first : {true, false}) {
    SlabTrace trace;
    trace.run();
    if (!first) trace.persist(kThird, 5);
    trace.store(trace.at(75, SiteKind::kStore, 8), kThird, block_at(trace.take()));
    const Found found = trace.check();
    EXPECT_EQ(found[0], first ? "never-flushed:free_list 11 x5" : "never-flushed 11 x5");
    EXPECT_EQ(found[1], first ? "never-flushed:free_list 75" : "never-flushed 75");
  }
}

TEST(FreeListNote, LinksOfMemoryThatIsNeverUsedAreReported) {
  SlabTrace trace;
  EXPECT_EQ(trace.check(), Found{"never-flushed 11 x8"});
}

TEST(FreeListNote, SourceLineThatStoresANumberIsReported) {
  SlabTrace trace;
  trace.run();
  trace.store(trace.second, block_at(7) + 16, 3);
  EXPECT_EQ(trace.check().front(), "never-flushed 11 x5");
}

TEST(FreeListNote, LinksOfAListThatIsInUseAreReported) {
  CheckedTrace trace;
  const std::uint32_t head = trace.at(74, SiteKind::kStore, 8);
  for (std::uint64_t i = 0; i < 4; ++i) {
    trace.persist(block_at(i) + 8);
    trace.store(trace.second, block_at(i), i == 0 ? 0 : block_at(i - 1));
    if (i % 2 == 0) trace.clwb(block_at(i));
    trace.sfence();
    trace.store(head, kOther, block_at(i));
    trace.clwb(kOther);
    trace.sfence();
  }
  EXPECT_EQ(without_costs(trace.check()), Found{"never-flushed 11 x2"});
}

TEST(NeverFlushed, StoreToMemoryThatIsFreedLaterIsNotReported) {
  CheckedTrace trace;
  trace.persist(kOther);
  trace.mark(MarkKind::kAllocate, kLine, 64);
  trace.put(kLine);
  trace.mark(MarkKind::kFree, kLine);
  EXPECT_EQ(trace.check(), Found{});
}

}  // namespace
}  // namespace pmemsim::check
