// The parts of a timeline, from events written by hand: regions and their intervals, persists, and
// the two formats.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "memory_bench.hpp"
#include "pmemsim/common/error.hpp"
#include "pmemsim/timeline/kanata_timeline.hpp"
#include "pmemsim/timeline/persists.hpp"
#include "pmemsim/timeline/regions.hpp"
#include "pmemsim/timeline/track_events.hpp"
#include "pmemsim/trace/reader.hpp"
#include "trace_builder.hpp"

namespace pmemsim {
namespace {

StageEvent region_event(Stage stage, CoreId core, std::uint64_t region, std::int64_t when_ns) {
  return {.stage = stage, .unit = core, .id = region, .at = {at_ns(when_ns)}};
}

std::vector<TimelineRegion> regions(const std::vector<StageEvent>& events) {
  const EventQueue queue{};
  StageLog log(queue, "/nowhere");
  for (const StageEvent& event : events) log.add(event);
  return regions_of(log);
}

// ---- Regions

TEST(TimelineRegions, FirstDurabilityCountsAndIsNotBeforeTheEnd) {
  const auto found = regions(
      {region_event(Stage::kRegionDurable, 0, 1, 5), region_event(Stage::kRegionBegin, 0, 1, 10),
       region_event(Stage::kRegionEnd, 0, 1, 30), region_event(Stage::kRegionBegin, 0, 2, 40),
       region_event(Stage::kRegionEnd, 0, 2, 60), region_event(Stage::kRegionDurable, 0, 2, 90),
       region_event(Stage::kRegionDurable, 0, 2, 400)});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].end(), at_ns(30));
  EXPECT_EQ(found[1].end(), at_ns(90));
  EXPECT_EQ(found[1].duration(), ns(50));
}

TEST(TimelineRegions, RegionThatIsRolledBackIsOneRegion) {
  const auto found = regions(
      {region_event(Stage::kRegionBegin, 1, 1, 10), region_event(Stage::kRegionEnd, 1, 1, 20),
       region_event(Stage::kRegionBegin, 1, 1, 50), region_event(Stage::kRegionEnd, 1, 1, 70)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].begin, at_ns(10));
  EXPECT_EQ(found[0].end(), at_ns(70));
  EXPECT_EQ(found[0].executions, 2u);
}

TEST(TimelineRegions, RegionWithoutItsEndIsLeftOut) {
  EXPECT_TRUE(regions({region_event(Stage::kRegionBegin, 0, 1, 10)}).empty());
}

// Core 0 has regions at 0 to 10 ns and 100 to 130 ns, core 1 one at 105 to 125 ns.
std::vector<TimelineRegion> three_regions() {
  return regions(
      {region_event(Stage::kRegionBegin, 0, 1, 0), region_event(Stage::kRegionEnd, 0, 1, 10),
       region_event(Stage::kRegionBegin, 0, 2, 100), region_event(Stage::kRegionEnd, 0, 2, 130),
       region_event(Stage::kRegionBegin, 1, 1, 105), region_event(Stage::kRegionEnd, 1, 1, 125)});
}

TEST(TimelineIntervals, TimesBoundTheTimeline) {
  auto all = three_regions();
  const Intervals shown({.from = at_ns(20), .until = at_ns(30)}, all);
  EXPECT_TRUE(shown.overlap(at_ns(0), at_ns(20)));
  EXPECT_TRUE(shown.overlap(at_ns(30), at_ns(40)));
  EXPECT_TRUE(shown.overlap(at_ns(10), at_ns(40)));
  EXPECT_FALSE(shown.overlap(at_ns(0), at_ns(19)));
  EXPECT_FALSE(shown.overlap(at_ns(31), at_ns(40)));
}

TEST(TimelineIntervals, NumbersOfRegionsSelectTheTimesOfAllThreads) {
  auto all = three_regions();
  const Intervals shown({.first_region = 1, .last_region = 1}, all);
  EXPECT_TRUE(shown.overlap(at_ns(5), at_ns(5)));
  EXPECT_TRUE(shown.overlap(at_ns(110), at_ns(110)));
  EXPECT_FALSE(shown.overlap(at_ns(11), at_ns(104)));
  EXPECT_FALSE(shown.overlap(at_ns(126), at_ns(200)));
  EXPECT_EQ(shown.begin_of(at_ns(110)), at_ns(105));
}

TEST(TimelineIntervals, SlowestRegionsAreRanked) {
  auto all = three_regions();
  const Intervals shown({.slowest = 2}, all);
  EXPECT_EQ(all[0].rank, 0u);
  EXPECT_EQ(all[1].rank, 1u);
  EXPECT_EQ(all[2].rank, 2u);
  EXPECT_FALSE(shown.overlap(at_ns(0), at_ns(99)));
  EXPECT_TRUE(shown.overlap(at_ns(130), at_ns(130)));
}

TEST(TimelineIntervals, NoRegionWithinTheBoundsIsAnError) {
  auto all = three_regions();
  EXPECT_THROW(Intervals({.first_region = 3, .last_region = 9}, all), Error);
  EXPECT_THROW(Intervals({.from = at_ns(200), .slowest = 1}, all), Error);
  std::vector<TimelineRegion> none;
  EXPECT_THROW(Intervals({.slowest = 1}, none), Error);
}

// ---- Persists

constexpr Line kStoredLine{0x41}, kLoggedLine{0x99};

StageEvent store(std::int64_t retired, std::int64_t visible) {
  return {.stage = Stage::kStore,
          .unit = 3,
          .id = 7,
          .line = kStoredLine,
          .at = {at_ns(retired), at_ns(retired), at_ns(visible)}};
}
StageEvent flush(std::int64_t retired, std::int64_t head, std::int64_t left) {
  return {.stage = Stage::kFlush,
          .unit = 0,
          .part = 1,
          .line = kStoredLine,
          .at = {at_ns(retired), at_ns(head), at_ns(left)}};
}
StageEvent issue(std::uint64_t id, std::int64_t when, WriteKind kind = WriteKind::kData,
                 Line line = kStoredLine) {
  return {.stage = Stage::kIssue,
          .detail = static_cast<std::uint8_t>(kind),
          .id = id,
          .line = line,
          .logged_line = kind == WriteKind::kLog ? kStoredLine.number : 0,
          .at = {at_ns(when)}};
}
StageEvent written(std::uint64_t id, std::int64_t arrived, std::int64_t accepted,
                   std::int64_t started, std::int64_t finished, bool late = false) {
  return {.stage = Stage::kWrite,
          .flag = late,
          .id = id,
          .line = kStoredLine,
          .at = {at_ns(arrived), at_ns(accepted), at_ns(started), at_ns(finished)}};
}

TEST(Persists, WriteAfterAFlushIsOfTheFlush) {
  PersistTracker tracker;
  EXPECT_FALSE(tracker.add(store(1, 2)));
  EXPECT_FALSE(tracker.add(flush(3, 4, 5)));
  EXPECT_FALSE(tracker.add(issue(9, 30)));
  const auto over = tracker.add(written(9, 30, 33, 40, 140));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->begin(), at_ns(3));
  EXPECT_EQ(over->persistent, at_ns(33));
  EXPECT_EQ(over->end, at_ns(140));
  EXPECT_TRUE(over->origin->flush);
  EXPECT_EQ(over->core, 0u);
}

TEST(Persists, WriteAfterAStoreIsOfTheStoreAndItsRegion) {
  PersistTracker tracker;
  tracker.add(flush(1, 2, 3));
  tracker.add(issue(8, 4));
  tracker.add(store(6, 8));
  tracker.add(issue(9, 30));
  const auto over = tracker.add(written(9, 30, 30, 40, 140));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->begin(), at_ns(8));
  EXPECT_EQ(over->core, 3u);
  EXPECT_EQ(over->region, 7u);
}

TEST(Persists, FlushThatLeavesAfterTheWriteIsNotItsCause) {
  PersistTracker tracker;
  tracker.add(store(1, 2));
  tracker.add(flush(20, 30, 40));
  tracker.add(issue(9, 30));
  const auto over = tracker.add(written(9, 30, 30, 40, 140));
  EXPECT_EQ(over->begin(), at_ns(2));
  EXPECT_FALSE(over->origin->flush);
}

TEST(Persists, LogQueueIsPersistentWhenWritten) {
  PersistTracker tracker;
  tracker.add(issue(9, 30, WriteKind::kLog, kLoggedLine));
  EXPECT_EQ(tracker.add(written(9, 30, 30, 40, 140, true))->persistent, at_ns(140));
}

TEST(Persists, LogWriteBelongsToTheRegionThatOwnsIt) {
  PersistTracker tracker;
  StageEvent event = issue(9, 30, WriteKind::kLog, kLoggedLine);
  event.unit = 2u << 16;  // the upper half of region_id(2, 5)
  event.part = 5;
  tracker.add(event);
  const auto over = tracker.add(written(9, 30, 30, 40, 140));
  EXPECT_EQ(over->core, 2u);
  EXPECT_EQ(over->region, 5u);
  EXPECT_EQ(over->name(), "log");
}

TEST(Persists, DropAndMergeEndAWrite) {
  PersistTracker tracker;
  tracker.add(issue(1, 30));
  tracker.add(issue(2, 31));
  const auto dropped = tracker.add(
      {.stage = Stage::kDrop, .flag = true, .id = 1, .at = {at_ns(50), at_ns(34), at_ns(34)}});
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->fate, Persist::Fate::kDropped);
  EXPECT_EQ(dropped->arrived, at_ns(30));
  EXPECT_EQ(dropped->accepted, at_ns(34));
  EXPECT_EQ(dropped->persistent, at_ns(34));
  EXPECT_EQ(dropped->end, at_ns(50));
  const auto merged = tracker.add({.stage = Stage::kMerge, .id = 2, .at = {at_ns(51)}});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->fate, Persist::Fate::kMerged);
  EXPECT_FALSE(tracker.add({.stage = Stage::kDrop, .id = 2, .at = {at_ns(52)}}));
}

// ---- The Kanata format

class SourceTable {
 public:
  SourceTable() {
    builder_.site(trace::SiteKind::kFlush);
    const std::vector<std::byte> raw = builder_.site_table();
    sites_ = trace::SiteTable::parse(raw);
  }
  trace::TraceBuilder builder_;
  trace::SiteTable sites_;
};

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string kanata(const std::vector<StageEvent>& events) {
  const SourceTable table;
  SourceNames sources(table.sites_);
  std::vector<TimelineRegion> none;
  const Intervals shown({}, none);
  KanataTimeline rows({1'000'000'000}, shown, sources);
  for (const StageEvent& event : events) rows.add(event);
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "timeline_test.kanata";
  rows.write(path.string());
  return contents(path);
}

TEST(Kanata, FenceFollowsItsPersist) {
  const StageEvent fence{.stage = Stage::kFence, .unit = 0, .at = {at_ns(1), at_ns(4), at_ns(31)}};
  const StageEvent stall{.stage = Stage::kStall,
                         .detail = static_cast<std::uint8_t>(Cause::kFence),
                         .unit = 0,
                         .at = {at_ns(4), at_ns(31)}};
  const std::string text =
      kanata({flush(0, 2, 3), issue(9, 30), stall, fence, written(9, 30, 30, 40, 143)});
  const std::size_t first = text.find("L\t0\t1\t");
  EXPECT_NE(text.find("written by its bank; flush at ", first), std::string::npos) << text;
  std::istringstream lines(text);
  std::string without_labels;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("L\t")) without_labels += line + "\n";
  }
  EXPECT_EQ(without_labels,
            "Kanata\t0004\nC=\t0\n"
            "I\t0\t0\t0\nS\t0\t0\tSq\nC\t1\n"
            "I\t1\t1\t0\nS\t1\t0\tSq\nC\t1\n"
            "E\t0\t0\tSq\nS\t0\t0\tHd\nC\t1\n"
            "E\t0\t0\tHd\nS\t0\t0\tCa\nC\t1\n"
            "E\t1\t0\tSq\nS\t1\t0\tHd\nS\t1\t1\tfence\nC\t26\n"
            "E\t0\t0\tCa\nS\t0\t0\tWq\nC\t1\n"
            "E\t1\t0\tHd\nE\t1\t1\tfence\nW\t1\t0\t0\nR\t1\t1\t0\nC\t9\n"
            "E\t0\t0\tWq\nS\t0\t0\tBk\nC\t103\n"
            "E\t0\t0\tBk\nR\t0\t0\t0\n");
}

TEST(Kanata, PersistFollowsTheFenceBeforeItAndItsLogEntry) {
  const StageEvent fence{.stage = Stage::kFence, .unit = 0, .at = {at_ns(1), at_ns(1), at_ns(2)}};
  const std::string text =
      kanata({fence, issue(1, 20, WriteKind::kLog, kLoggedLine), written(1, 20, 20, 21, 22),
              flush(3, 4, 5), issue(2, 30), written(2, 30, 30, 40, 50)});
  // Rows by their begins: the fence, the data, the log entry.
  EXPECT_NE(text.find("W\t1\t0\t0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("W\t1\t2\t0\n"), std::string::npos) << text;
}

TEST(Kanata, StallWithoutAFenceIsARowOfItsOwn) {
  const std::string text = kanata({{.stage = Stage::kStall,
                                    .detail = static_cast<std::uint8_t>(Cause::kLock),
                                    .unit = 5,
                                    .at = {at_ns(4), at_ns(31)}}});
  EXPECT_NE(text.find("I\t0\t0\t5\nL\t0\t0\tcore 5: lock\n"), std::string::npos) << text;
  EXPECT_NE(text.find("S\t0\t1\tlock\nC\t27\nE\t0\t1\tlock\nR\t0\t0\t0\n"), std::string::npos);
}

TEST(Kanata, FullQueueIsAStallOfThePersist) {
  const std::string text = kanata({issue(9, 30), written(9, 30, 35, 40, 50)});
  EXPECT_NE(text.find("S\t0\t0\tAr\nS\t0\t1\tfull\nC\t5\nE\t0\t0\tAr\nE\t0\t1\tfull\n"),
            std::string::npos)
      << text;
}

TEST(Kanata, RefreshOfAChannelIsARow) {
  const std::string text =
      kanata({{.stage = Stage::kRefresh, .unit = 2, .at = {at_ns(4), at_ns(354)}}});
  EXPECT_NE(text.find("L\t0\t0\tchannel 2: refresh\n"), std::string::npos) << text;
  EXPECT_NE(text.find("S\t0\t1\trefresh\nC\t350\nE\t0\t1\trefresh\n"), std::string::npos) << text;
}

TEST(Kanata, DroppedWriteIsFlushed) {
  const std::string text =
      kanata({issue(9, 30), {.stage = Stage::kDrop, .id = 9, .at = {at_ns(33)}}});
  EXPECT_NE(text.find("R\t0\t0\t1\n"), std::string::npos) << text;
}

// ---- TrackEvent packets

TEST(TrackEvents, NumbersAreEncodedAsProtobufVarints) {
  Message inner;
  inner.number(1, 300);
  EXPECT_EQ(inner.bytes(), std::string("\x08\xac\x02"));
  Message outer;
  outer.message(3, inner);
  outer.text(16, "ab");
  outer.fixed64(47, 2);
  EXPECT_EQ(outer.bytes(), std::string("\x1a\x03\x08\xac\x02\x82\x01\x02"
                                       "ab\xf9\x02\x02\0\0\0\0\0\0\0",
                                       20));
}

TEST(TrackEvents, OverlappingSlicesGetLanes) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "timeline_test.pftrace";
  TrackEventFile file(path.string());
  SliceTrack track(0, "bank", 0);
  const std::uint64_t first = file.begin(track, "a", at_ns(0), at_ns(10));
  const std::uint64_t second = file.begin(track, "b", at_ns(5), at_ns(20));
  EXPECT_NE(first, second);
  EXPECT_EQ(file.begin(track, "c", at_ns(10), at_ns(15)), first);
  EXPECT_EQ(file.begin(track, "d", at_ns(20), at_ns(21)), first);
  file.close();
  EXPECT_EQ(file.tracks(), 2u);
  EXPECT_EQ(file.slices(), 4u);
}

TEST(TrackEvents, FileThatCannotBeWrittenIsNamed) {
  EXPECT_THROW(TrackEventFile("/nowhere/t.pftrace"), Error);
}

}  // namespace
}  // namespace pmemsim
