// Rule P14 of a program's check: replies of data that are possibly lost.
#include "pmemsim/checks/rules/reply_check.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "checked_trace.hpp"

namespace pmemsim::check {
namespace {

using trace::ReplyTo;

struct ReplyingTrace : CheckedTrace {
  const std::uint32_t call = at(40, SiteKind::kExecute, 0);
  const std::uint32_t spill = at(13, SiteKind::kStore, 8, 0, 0, "work", {(load_site << 8) | 1});
  const std::uint32_t reload = at(51, SiteKind::kLoad, 8);
  const std::uint32_t copy = at(14, SiteKind::kStore, 8, 0, 0, "work", {(reload << 8) | 1});
  const std::uint32_t branch_site =
      at(15, SiteKind::kBranch, 0, 0, 0, "work", {(load_site << 8) | 1});

  void reply(std::uint64_t address, std::uint64_t bytes = 8, ReplyTo to = ReplyTo::kPeer) {
    plain(call);
    mark(MarkKind::kReply, address, bytes | static_cast<std::uint64_t>(to) << 32);
  }
  void part(std::uint64_t address) {
    plain(call);
    mark(MarkKind::kReply, address, 8 | trace::kReplyContinues);
  }
  void request(std::uint64_t address = kHeapWord + 4096) { mark(MarkKind::kRequest, address, 8); }
  void persist_line(std::uint64_t address) {
    clwb(address);
    sfence();
  }
  // Thread 0 stores, and thread 1 loads; `persistent`: after the fence.
  void read_of_another(bool persistent) {
    put(kLine);
    clwb(kLine);
    if (persistent) sfence();
    hand_over();
    access(load_site, kLine);
  }
  void finish() {
    thread(0);
    sfence();
  }
};

// ---- The reply's bytes

TEST(ReplyCheck, ReplyFromUnpersistedMemoryIsReported) {
  for (const bool persistent : {false, true}) {
    ReplyingTrace trace;
    trace.put(kOther);
    if (persistent) trace.persist_line(kOther);
    trace.reply(kOther);
    if (!persistent) trace.persist_line(kOther);
    EXPECT_EQ(trace.check(), persistent ? Found{} : Found{"replies-unpersisted 40/10"});
  }
}

TEST(ReplyCheck, ReplyOfAnotherThreadsUnpersistedValueIsReported) {
  for (const bool persistent : {false, true}) {
    ReplyingTrace trace;
    trace.read_of_another(persistent);
    trace.store(trace.spill, kHeapWord, 7);
    trace.reply(kHeapWord);
    trace.finish();
    EXPECT_EQ(trace.check(),
              persistent ? Found{"useless-fence 30"} : Found{"replies-unpersisted 40/10"});
  }
}

TEST(ReplyCheck, ReplyAfterTheReaderHasPersistedTheValueIsNotReported) {
  ReplyingTrace trace;
  trace.read_of_another(false);
  trace.store(trace.spill, kHeapWord, 7);
  trace.persist_line(kLine);
  trace.reply(kHeapWord);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, ValueIsTrackedThroughSeveralVolatileWords) {
  ReplyingTrace trace;
  trace.read_of_another(false);
  trace.store(trace.spill, kHeapWord, 7);
  trace.access(trace.reload, kHeapWord);
  trace.store(trace.copy, kHeapWord + 64, 7);
  trace.reply(kHeapWord + 48, 24);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, ReplyOfOtherBytesIsNotReported) {
  ReplyingTrace trace;
  trace.read_of_another(false);
  trace.store(trace.spill, kHeapWord, 7);
  trace.reply(kHeapWord + 8);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, OverwrittenBytesOfABufferAreNotReported) {
  for (const std::uint8_t overwritten : {4, 8}) {
    ReplyingTrace trace;
    const std::uint32_t clear = trace.at(16, SiteKind::kStore, overwritten);
    trace.read_of_another(false);
    trace.store(trace.spill, kHeapWord, 7);
    trace.store(clear, kHeapWord, 0);
    trace.reply(kHeapWord, 4);
    trace.reply(kHeapWord + 4, 4);
    trace.finish();
    EXPECT_EQ(trace.check(), overwritten == 8 ? Found{} : Found{"replies-unpersisted 40/10"});
  }
}

TEST(ReplyCheck, OwnUnpersistedValueIsTrackedInAProgramOfOneThread) {
  ReplyingTrace trace;
  trace.persist(kOther);
  trace.put(kLine);
  trace.access(trace.load_site, kLine);
  trace.store(trace.spill, kHeapWord, 7);
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, ReplyCountsOnceForAllWordsOfALine) {
  ReplyingTrace trace;
  for (std::uint64_t i = 0; i < 4; ++i) trace.put(kLine + 8 * i);
  trace.reply(kLine, 32);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, FindingNamesTheLastStoreToTheSentWords) {
  ReplyingTrace trace;
  trace.store(trace.at(82, SiteKind::kStore, 8), kLine, 1);
  trace.put(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.reply(kLine);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, EachReplyOfTheSameDataCounts) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kLine);
  trace.reply(kLine);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10 x2"});
}

TEST(ReplyCheck, ReplyInPartsIsOneReply) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.part(kHeapWord);
  trace.part(kLine);
  trace.reply(kLine);
  trace.persist_line(kLine);
  const Report report = trace.report();
  EXPECT_EQ(report.replies, 1);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, ReplyOfAnUnorderedStoreIsNotReported) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.thread(1);
  trace.reply(kLine);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, ReplyOfNeverFlushedDataIsReportedAtTheStoreOnly) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kLine);
  EXPECT_EQ(trace.check(), Found{"never-flushed 10"});
}

TEST(ReplyCheck, EadrNeedsNoFlushBeforeAReply) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kLine);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check({.eadr = true}), Found{});
}

TEST(ReplyCheck, ReplyFromALineWithClflushIsNotReported) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.access(trace.flush_at(21, FlushKind::kClflush), kLine);
  trace.reply(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, BufferFilledByARequestIsNotReported) {
  for (const std::uint64_t offset : {0, 64}) {
    ReplyingTrace trace;
    trace.read_of_another(false);
    trace.store(trace.spill, kHeapWord, 7);
    trace.request(kHeapWord + offset);
    trace.reply(kHeapWord);
    trace.finish();
    EXPECT_EQ(trace.check(), offset == 0 ? Found{} : Found{"replies-unpersisted 40/10"});
  }
}

TEST(ReplyCheck, ReplyToAFileIsANote) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kLine, 8, ReplyTo::kFile);
  trace.reply(kHeapWord, 8, ReplyTo::kFile);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted:file 40/10"});
}

// ---- Stores of the replying thread

TEST(ReplyCheck, OwnStoreThatIsPersistedAfterTheReplyIsReported) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, OwnStoreThatIsPersistedBeforeTheReplyIsNotReported) {
  ReplyingTrace trace;
  trace.persist(kLine);
  trace.reply(kHeapWord);
  trace.persist(kLine);
  trace.reply(kHeapWord);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, FlushWithoutFenceBeforeTheReplyIsReported) {
  for (const FlushKind kind : {FlushKind::kClwb, FlushKind::kClflush}) {
    ReplyingTrace trace;
    trace.put(kLine);
    trace.access(trace.flush_at(21, kind), kLine);
    trace.reply(kHeapWord);
    trace.request();
    trace.persist(kOther);
    EXPECT_EQ(trace.check(),
              kind == FlushKind::kClflush ? Found{} : Found{"replies-unpersisted 40/10"});
  }
}

TEST(ReplyCheck, SecondReplyOfTheSameOperationAddsNothing) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kHeapWord);
  trace.reply(kHeapWord + 8);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, LateStoreWithAPersistentCopyIsANote) {
  for (const std::uint64_t logged : {7, 8}) {
    ReplyingTrace trace;
    trace.persist(kLine + 8, 9);
    trace.request();
    trace.persist(kOther, logged);
    trace.put(kLine, 7);
    trace.reply(kHeapWord);
    trace.persist_line(kLine);
    EXPECT_EQ(trace.check(), logged == 7 ? Found{"replies-unpersisted:own_store 40/10"}
                                         : Found{"replies-unpersisted 40/10"});
  }
}

TEST(ReplyCheck, FlushWithoutFenceOfACopiedStoreIsANote) {
  ReplyingTrace trace;
  trace.persist(kOther);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.reply(kHeapWord);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted:own_store 40/10"});
}

TEST(ReplyCheck, StoreThatIsSometimesPutOffIsANote) {
  ReplyingTrace trace;
  for (const bool persists : {false, true}) {
    trace.request();
    trace.put(kLine);
    trace.reply(kHeapWord);
    if (persists) trace.persist_line(kLine);
  }
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted:own_store 40/10 x2"});
}

TEST(ReplyCheck, StoreThatIsPersistedInALaterOperationIsANote) {
  for (const bool by_request : {false, true}) {
    ReplyingTrace trace;
    trace.put(kLine);
    trace.reply(kHeapWord);
    if (by_request) trace.request();
    trace.persist(kOther);
    trace.reply(kHeapWord);
    trace.persist_line(kLine);
    EXPECT_EQ(trace.check(), Found{"replies-unpersisted:own_store 40/10"});
  }
}

TEST(ReplyCheck, StorePersistedWithTheNextOperationsStoreIsANote) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kHeapWord);
  trace.store(trace.second, kOther, 1);
  trace.reply(kHeapWord);
  trace.clwb(kLine);
  trace.persist_line(kOther);
  EXPECT_EQ(trace.check(),
            (Found{"replies-unpersisted:own_store 40/10", "replies-unpersisted 40/11"}));
}

TEST(ReplyCheck, FreedMemoryNeedsNoFlushBeforeAReply) {
  ReplyingTrace trace;
  trace.mark(MarkKind::kAllocate, kLine, 64);
  trace.put(kLine);
  trace.mark(MarkKind::kFree, kLine, 64);
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, SequenceWordNeedsNoFlushBeforeAReply) {
  ReplyingTrace trace;
  trace.store(trace.at(80, SiteKind::kStore, 8), kLine, 1);
  trace.store(trace.second, kOther, 7);
  trace.store(trace.at(81, SiteKind::kStore, 8), kLine, 2);
  trace.reply(kHeapWord);
  trace.clwb(kLine);
  trace.persist_line(kOther);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/11"});
}

TEST(ReplyCheck, LineWithARaceIsNotReported) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.thread(1);
  trace.put(kLine);
  trace.reply(kLine);
  trace.persist_line(kLine);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, StoreBeforeTheRequestIsNotReported) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.request();
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, LineThatAnotherThreadHasChangedIsNeitherLostNorPersistent) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.store(trace.second, kOther, 1);
  trace.hand_over();
  trace.put(kLine);
  trace.sync(SyncKind::kSemaphorePost, kLockWord + 64, 1, 1);
  trace.thread(0);
  trace.sync(SyncKind::kSemaphoreWait, kLockWord + 64, 1, 1);
  trace.reply(kHeapWord);
  trace.clwb(kLine);
  trace.persist_line(kOther);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/11"});
}

TEST(ReplyCheck, StoreInAnOpenRegionIsNotReported) {
  ReplyingTrace trace;
  trace.begin();
  trace.log(kLine);
  trace.put(kLine);
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  trace.end();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, StoreInARegionThatHasEndedIsNotReported) {
  ReplyingTrace trace;
  trace.begin();
  trace.log(kLine);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sfence();
  trace.end();
  trace.put(kOther);
  trace.reply(kHeapWord);
  trace.persist_line(kOther);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted:own_store 40/10"});
}

TEST(ReplyCheck, ReplyToAFileIsNotComparedWithOwnStores) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kHeapWord, 8, ReplyTo::kFile);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ReplyCheck, ReplyToAFileDoesNotEndTheOperation) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.reply(kHeapWord, 8, ReplyTo::kFile);
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, LockWordNeedsNoFlushBeforeAReply) {
  ReplyingTrace trace;
  const auto takes = static_cast<std::uint8_t>(trace::LockRole::kTakes);
  trace.atomic(trace.at(70, SiteKind::kAtomicUpdate, 8, takes), kLine, 0, 1, 1, true);
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{});
}

// ---- Branches

TEST(ReplyCheck, ReplyAfterABranchOnAnotherThreadsUnpersistedValueIsANote) {
  for (const bool persistent : {false, true}) {
    ReplyingTrace trace;
    trace.read_of_another(persistent);
    trace.branch(trace.branch_site, true);
    trace.reply(kHeapWord);
    trace.finish();
    EXPECT_EQ(trace.check(),
              persistent ? Found{"useless-fence 30"} : Found{"replies-unpersisted:branch 40/10"});
  }
}

TEST(ReplyCheck, BranchOnAValueThatIsSentIsNotReported) {
  ReplyingTrace trace;
  trace.read_of_another(false);
  trace.branch(trace.branch_site, true);
  trace.store(trace.spill, kHeapWord, 7);
  trace.reply(kHeapWord);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, BranchOnAnOwnValueIsNotReported) {
  ReplyingTrace trace;
  trace.put(kLine);
  trace.access(trace.load_site, kLine);
  trace.branch(trace.branch_site, true);
  trace.reply(kHeapWord);
  trace.persist_line(kLine);
  EXPECT_EQ(trace.check(), Found{"replies-unpersisted 40/10"});
}

TEST(ReplyCheck, BranchOfAnEarlierOperationIsNotReported) {
  ReplyingTrace trace;
  trace.read_of_another(false);
  trace.branch(trace.branch_site, true);
  trace.request();
  trace.reply(kHeapWord);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{});
}

// ---- Recordings

TEST(ReplyCheck, RecordingWithoutRepliesIsCountedAsSuch) {
  ReplyingTrace trace;
  trace.persist(kLine);
  EXPECT_EQ(trace.report().replies, 0);
  trace.reply(kHeapWord);
  EXPECT_EQ(trace.report().replies, 1);
}

}  // namespace
}  // namespace pmemsim::check
