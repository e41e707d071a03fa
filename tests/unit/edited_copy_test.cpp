// Copies of recordings with flushes and fences added or left out: hand-written traces, whose copies
// are read back.
#include "pmemsim/analysis/edited_copy.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "pmemsim/analysis/race_table.hpp"
#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/source_location.hpp"
#include "run_trace.hpp"

namespace pmemsim::trace {
namespace {

using What = Edits::What;

constexpr std::uint64_t kFirst = kPmBase + 4096, kSecond = kFirst + kLineBytes;

LeftOut operations(std::vector<std::vector<std::uint64_t>> numbers) {
  return std::make_shared<const std::vector<std::vector<std::uint64_t>>>(std::move(numbers));
}

struct EditedTrace : TraceBuilder {
  EditedTrace() { pm_region(kPmBase, kPmBase + (1 << 20)); }

  std::uint32_t at(std::uint32_t line, SiteKind kind, std::uint8_t size = 0,
                   std::uint8_t detail = 0) {
    return site(kind, size, 3, {}, {}, detail, 0, {"mine.c", "work", line});
  }
};

// Describes an operation as its kind, its line, and what follows from the kind.
std::string described(const TraceFile& file, const Operation& operation) {
  const std::uint32_t line = location_of(file.sites(), operation.site).line;
  switch (operation.kind) {
    case SiteKind::kStore:
    case SiteKind::kCopyStore:
      return fmt::format("store {}", line);
    case SiteKind::kLoad:
      return fmt::format("load {}", line);
    case SiteKind::kFlush:
      return fmt::format("flush {} +{}", line, operation.address - kFirst);
    case SiteKind::kFence:
      return fmt::format("fence {}", line);
    case SiteKind::kExecute:
      return fmt::format("execute {} [{}]", line, operation.instructions);
    default:
      return fmt::format("other {}", line);
  }
}

// Writes the copy to a file of its own, which `use` may read.
template <class Use>
void with_copy(TraceBuilder& builder, const Edits& edits, Use use) {
  const TemporaryTrace original(builder);
  const std::string path = original.path() + ".edited";
  const Added added = write_edited_copy(TraceFile(original.path()), edits, path);
  use(TraceFile(path), added);
  std::remove(path.c_str());
}

std::vector<std::string> operations_of(const TraceFile& file, std::uint32_t thread) {
  std::vector<std::string> all;
  OperationStream stream(file, thread);
  Operation operation;
  while (stream.next(operation)) all.push_back(described(file, operation));
  return all;
}

std::vector<std::string> edited(TraceBuilder& builder, const Edits& edits) {
  std::vector<std::string> operations;
  with_copy(builder, edits,
            [&](const TraceFile& file, Added) { operations = operations_of(file, 0); });
  return operations;
}

using Lines = std::vector<std::string>;

TEST(EditedCopy, WithoutEditsIsTheRecording) {
  EditedTrace trace;
  const std::uint32_t load = trace.at(1, SiteKind::kLoad, 8),
                      store = trace.at(2, SiteKind::kStore, 8);
  trace.access(load, kFirst);
  trace.external(100);
  trace.store(store, kFirst, 42);
  const TemporaryTrace original(trace);
  const std::string path = original.path() + ".edited";
  const TraceFile before(original.path());
  write_edited_copy(before, {}, path);
  const TraceFile after(path);
  std::remove(path.c_str());
  OperationStream one(before, 0), other(after, 0);
  Operation expected, found;
  while (one.next(expected)) {
    ASSERT_TRUE(other.next(found));
    EXPECT_EQ(found.site, expected.site);
    EXPECT_EQ(found.address, expected.address);
    EXPECT_EQ(found.instructions, expected.instructions);
  }
  EXPECT_FALSE(other.next(found));
}

TEST(EditedCopy, AFlushCoversEachLineOfTheStatementOnce) {
  EditedTrace trace;
  const std::uint32_t store = trace.at(5, SiteKind::kStore, 8),
                      next = trace.at(6, SiteKind::kExecute);
  trace.store(store, kFirst, 1);
  trace.store(store, kFirst + 8, 1);
  trace.store(store, kSecond - 4, 1);  // in two lines
  trace.plain(next);
  trace.store(store, kSecond, 1);
  EXPECT_EQ(edited(trace, {.at_statements = {{What::kFlush, "mine.c", 5}}}),
            (Lines{"store 5", "store 5", "store 5", "flush 5 +0", "flush 5 +64", "execute 6 [3]",
                   "store 5", "flush 5 +64"}));
}

TEST(EditedCopy, VolatileMemoryIsNotFlushed) {
  EditedTrace trace;
  const std::uint32_t store = trace.at(5, SiteKind::kStore, 8);
  trace.store(store, kDramBase, 1);
  EXPECT_EQ(edited(trace, {.at_statements = {{What::kFlush, "mine.c", 5},
                                             {What::kFenceBefore, "mine.c", 5}}}),
            (Lines{"store 5"}));
}

TEST(EditedCopy, AFlushOfLoadedDataNeedsNoStore) {
  EditedTrace trace;
  const std::uint32_t load = trace.at(5, SiteKind::kLoad, 8),
                      next = trace.at(6, SiteKind::kStore, 8);
  trace.access(load, kSecond);
  trace.store(next, kFirst, 1);
  const Edits edits{
      .at_statements = {{What::kFlushLoaded, "mine.c", 5}, {What::kFenceBefore, "mine.c", 6}}};
  EXPECT_EQ(edited(trace, edits), (Lines{"load 5", "flush 5 +64", "fence 6", "store 6"}));
}

TEST(EditedCopy, AFenceIsAddedOncePerStatement) {
  EditedTrace trace;
  const std::uint32_t store = trace.at(5, SiteKind::kStore, 8),
                      next = trace.at(6, SiteKind::kExecute);
  for (int i = 0; i < 2; ++i) {
    trace.store(store, kFirst, 1);
    trace.store(store, kFirst + 8, 1);
    trace.plain(next);
  }
  EXPECT_EQ(edited(trace, {.at_statements = {{What::kFenceBefore, "mine.c", 5}}}),
            (Lines{"fence 5", "store 5", "store 5", "execute 6 [3]", "fence 5", "store 5",
                   "store 5", "execute 6 [3]"}));
  EXPECT_EQ(edited(trace, {.at_statements = {{What::kFlush, "mine.c", 5},
                                             {What::kFenceAfter, "mine.c", 5}}}),
            (Lines{"store 5", "store 5", "flush 5 +0", "fence 5", "execute 6 [3]", "store 5",
                   "store 5", "flush 5 +0", "fence 5", "execute 6 [3]"}));
}

TEST(EditedCopy, AFenceBehindACallPrecedesTheNextStore) {
  EditedTrace trace;
  const std::uint32_t flush = trace.at(3, SiteKind::kFlush), load = trace.at(4, SiteKind::kLoad, 8);
  const std::uint32_t store = trace.at(5, SiteKind::kStore, 8);
  trace.access(flush, kFirst);
  trace.access(load, kFirst);
  trace.access(flush, kSecond);
  trace.access(load, kFirst);
  trace.store(store, kFirst, 1);
  trace.access(flush, kFirst);
  EXPECT_EQ(
      edited(trace, {.fenced_calls = {operations({{0, 2}})}}),
      (Lines{"flush 3 +0", "load 4", "flush 3 +64", "load 4", "fence 3", "store 5", "flush 3 +0"}));
  EXPECT_EQ(edited(trace, {.fenced_calls = {operations({{5}})}}).back(), "fence 3")
      << "at the thread's end";
}

TEST(EditedCopy, WhatIsLeftOutKeepsItsOtherInstructions) {
  EditedTrace trace;
  const std::uint32_t flush = trace.at(3, SiteKind::kFlush),
                      store = trace.at(5, SiteKind::kStore, 8);
  trace.access(flush, kFirst);
  trace.store(store, kFirst, 1);
  trace.access(flush, kFirst);
  EXPECT_EQ(edited(trace, {.left_out = operations({{2}})}),
            (Lines{"flush 3 +0", "store 5", "execute 3 [2]"}));
}

TEST(EditedCopy, SkippedOperationsHaveNoInstructions) {
  EditedTrace trace;
  const std::uint32_t flush = trace.at(3, SiteKind::kFlush),
                      store = trace.at(5, SiteKind::kStore, 8);
  trace.mark(MarkKind::kRegionBegin, 1);
  trace.store(store, kFirst, 1);
  trace.access(flush, kFirst);
  trace.store(store, kFirst, 1);
  trace.access(flush, kFirst);
  EXPECT_EQ(edited(trace, {.left_out = operations({{4}}), .skipped = operations({{0, 1, 2}})}),
            (Lines{"other 0", "execute 5 [0]", "execute 3 [0]", "store 5", "execute 3 [2]"}));
}

TEST(EditedCopy, ReservedOperationsAndABaselineChangeOnlyTheNumbersOfSites) {
  EditedTrace trace;
  const std::uint32_t flush = trace.at(3, SiteKind::kFlush);
  const std::uint32_t store = trace.at(5, SiteKind::kStore, 8);
  trace.access(flush, kFirst);
  trace.store(store, kFirst, 1);
  const Lines recorded{"flush 3 +0", "store 5"};
  const LeftOut first = operations({{0}});
  const auto sites = [&](const Edits& edits) {
    std::size_t count = 0;
    with_copy(trace, edits,
              [&](const TraceFile& file, Added) { count = file.sites().sites().size(); });
    return count;
  };
  const std::size_t alone = sites({});
  EXPECT_EQ(edited(trace, {.reserved = first}), recorded);
  EXPECT_EQ(sites({.reserved = first}), alone + 1);
  EXPECT_EQ(sites({.left_out = first}), alone + 1);
  const Edits baseline{
      .left_out = first, .at_statements = {{What::kFlush, "mine.c", 5}}, .only_sites = true};
  EXPECT_EQ(edited(trace, baseline), recorded);
  EXPECT_EQ(sites(baseline), alone + 3);
}

TEST(EditedCopy, TheMeaningOfAnOmittedFenceIsNotTheNextOnes) {
  EditedTrace trace;
  const std::uint32_t fence = trace.at(3, SiteKind::kFence);
  trace.mark(MarkKind::kNextFence, static_cast<std::uint64_t>(FenceMeaning::kDurable));
  trace.plain(fence);
  trace.plain(fence);
  with_copy(trace, {.left_out = operations({{1}})}, [](const TraceFile& file, Added) {
    OperationStream stream(file, 0);
    Operation operation;
    std::vector<std::uint64_t> meanings;
    while (stream.next(operation)) {
      if (operation.kind == SiteKind::kMark) meanings.push_back(operation.address);
    }
    EXPECT_EQ(meanings.back(), static_cast<std::uint64_t>(FenceMeaning::kBare));
    EXPECT_EQ(operations_of(file, 0).back(), "fence 3");
  });
}

TEST(EditedCopy, DependencesNameTheSameSites) {
  EditedTrace trace;
  const std::uint32_t anchor = trace.at(5, SiteKind::kStore, 8);
  const std::uint32_t load = trace.at(6, SiteKind::kLoad, 8);
  const std::uint32_t store = trace.site(SiteKind::kStore, 8, 1, {}, {load << 8 | 7u | kDivides}, 0,
                                         0, {"mine.c", "work", 7});
  trace.store(anchor, kFirst, 1);
  trace.access(load, kFirst);
  trace.store(store, kFirst, 1);
  with_copy(trace, {.at_statements = {{What::kFlush, "mine.c", 5}}},
            [](const TraceFile& file, Added) {
              for (const SiteRecord& site : file.sites().sites()) {
                if (site.line != 7) continue;
                const std::uint32_t dependence = file.sites().dependences(site)[0];
                EXPECT_EQ(dependence & (kDivides | 0xff), kDivides | 7u);
                EXPECT_EQ(file.sites().sites()[dependence_site(dependence)].line, 6u);
              }
            });
}

TEST(EditedCopy, TurnsAndRacesReferToTheSameOperations) {
  EditedTrace trace;
  const std::uint32_t store = trace.at(5, SiteKind::kStore, 8),
                      load = trace.at(6, SiteKind::kLoad, 8);
  trace.thread(0).store(store, kFirst, 1);
  trace.end_turn(0);
  trace.thread(1).access(load, kFirst);
  trace.store(store, kSecond, 1);
  trace.access(load, kFirst);
  trace.end_turn(1);
  trace.thread(0).access(load, kSecond);
  trace.end_turn(2);
  trace.race({.number = 0, .count = 1, .thread = 1, .other = 0});
  trace.race({.number = 1, .count = 2, .thread = 0, .other = 1});
  const Edits edits{
      .at_statements = {{What::kFlush, "mine.c", 5}, {What::kFenceBefore, "mine.c", 5}}};
  with_copy(trace, edits, [](const TraceFile& file, Added added) {
    EXPECT_EQ(added.flushes, 2u);
    EXPECT_EQ(added.fences, 2u);
    EXPECT_EQ(operations_of(file, 0), (Lines{"fence 5", "store 5", "flush 5 +0", "load 6"}));
    EXPECT_EQ(operations_of(file, 1),
              (Lines{"load 6", "fence 5", "store 5", "flush 5 +64", "load 6"}));
    const RaceWaits races = stored_races(file).value();
    EXPECT_EQ(races[1].at(0).number, 0u) << "the first load";
    EXPECT_EQ(races[1].at(0).count, 2u) << "fence and store, not what follows them";
    EXPECT_EQ(races[0].at(0).number, 3u);
    EXPECT_EQ(races[0].at(0).count, 3u);
    const std::vector<std::vector<Turn>> turns = [&] {
      std::vector<std::vector<Turn>> by_thread(2);
      std::vector<std::byte> raw;
      for (const FrameEntry& entry : file.frames()) {
        if (!is(entry.header, FrameKind::kTurns)) continue;
        file.read_frame(entry, raw);
        by_thread[entry.header.thread].resize(raw.size() / sizeof(Turn));
        std::memcpy(by_thread[entry.header.thread].data(), raw.data(), raw.size());
      }
      return by_thread;
    }();
    EXPECT_EQ(turns[0].at(0).end, 3u) << "an added flush belongs to the turn of its store";
    EXPECT_EQ(turns[1].at(0).end, 5u);
    EXPECT_EQ(turns[0].at(1).end, 4u);
  });
}

}  // namespace
}  // namespace pmemsim::trace
