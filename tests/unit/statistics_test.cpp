// Relations between statistics: each relation when it holds, and when it does not.
#include <gtest/gtest.h>

#include "pmemsim/common/error.hpp"
#include "pmemsim/common/statistics.hpp"

namespace pmemsim {
namespace {

// Empty if all relations hold.
std::string contradiction(const StatisticsCollector& collector, Origins origins = Origins::kSome) {
  try {
    collector.check(origins);
    return "";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    const std::string begin = "the statistics of this run contradict each other: ";
    const std::string end = "; please report this with the trace and the configuration";
    EXPECT_TRUE(text.starts_with(begin) && text.ends_with(end)) << text;
    return text.substr(begin.size(), text.size() - begin.size() - end.size());
  }
}

struct Cache {
  std::uint64_t accesses = 0, hits = 0, misses = 0, late_hits = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("accesses", accesses, "requests", "Accesses");
    visit("hits", hits, "requests", "Hits", share_of("accesses"));
    visit("misses", misses, "requests", "Misses", share_of("accesses"));
    visit("late_hits", late_hits, "requests", "Of the hits, late ones", part_of("hits"));
  }
};

TEST(StatisticsCheck, SharesThatAddUpToTheirWholePass) {
  StatisticsCollector collector;
  collector.group("cache", Cache{.accesses = 5, .hits = 3, .misses = 2, .late_hits = 3});
  EXPECT_EQ(collector.relations(), 3u);
  EXPECT_EQ(contradiction(collector), "");
}

TEST(StatisticsCheck, SharesThatDoNotAddUpAreNamedWithTheirValues) {
  for (const std::uint64_t accesses : {4, 6}) {
    StatisticsCollector collector;
    collector.group("cache", Cache{.accesses = accesses, .hits = 3, .misses = 2});
    EXPECT_EQ(contradiction(collector),
              "cache.accesses (" + std::to_string(accesses) +
                  ") is declared as the sum of cache.hits (3) + cache.misses (2), which is 5");
  }
}

TEST(StatisticsCheck, PartThatIsLargerThanItsWholeIsNamedWithBothValues) {
  StatisticsCollector collector;
  collector.group("cache", Cache{.accesses = 5, .hits = 3, .misses = 2, .late_hits = 4});
  EXPECT_EQ(contradiction(collector),
            "cache.late_hits (4) is declared as a part of cache.hits (3), but is larger");
}

TEST(StatisticsCheck, EveryContradictionHasASentence) {
  StatisticsCollector collector;
  collector.group("cache", Cache{.accesses = 6, .hits = 3, .misses = 2, .late_hits = 4});
  EXPECT_EQ(contradiction(collector),
            "cache.late_hits (4) is declared as a part of cache.hits (3), but is larger; "
            "cache.accesses (6) is declared as the sum of cache.hits (3) + cache.misses (2), which "
            "is 5");
}

TEST(StatisticsCheck, PartOfSeveralStatisticsIsAtMostTheirSum) {
  for (const std::uint64_t late : {5, 6}) {
    StatisticsCollector collector;
    collector.group("cache", Cache{.accesses = 5, .hits = 3, .misses = 2});
    collector("late", late, "requests", "Late answers", part_of("cache.hits", "cache.misses"));
    EXPECT_EQ(contradiction(collector),
              late == 5 ? ""
                        : "late (6) is declared as a part of cache.hits (3) + cache.misses (2), "
                          "but is larger");
  }
}

TEST(StatisticsCheck, EachDivisionOfAWholeAddsUp) {
  for (const std::uint64_t dropped : {1, 2}) {
    StatisticsCollector collector;
    collector("writes", std::uint64_t{4}, "requests", "Writes");
    collector("data", std::uint64_t{4}, "requests", "Data", share_of("writes", "kind"));
    collector("written", std::uint64_t{3}, "requests", "Written", share_of("writes", "fate"));
    collector("dropped", dropped, "requests", "Dropped", share_of("writes", "fate"));
    EXPECT_EQ(contradiction(collector),
              dropped == 1 ? ""
                           : "writes (4) is declared as the sum of written (3) + dropped (2), "
                             "which is 5");
  }
}

TEST(StatisticsCheck, OriginsAddUpToTheirWholeOnlyIfAllAreKnown) {
  for (const std::uint64_t evicted : {0, 1, 2}) {
    StatisticsCollector collector;
    collector("writes", std::uint64_t{4}, "requests", "Writes");
    collector("flushed", std::uint64_t{3}, "lines", "Flushed", origin_of("writes"));
    collector("evicted", evicted, "lines", "Evicted", origin_of("writes"));
    const std::string sum = "the sum of flushed (3) + evicted (" + std::to_string(evicted) +
                            "), which is " + std::to_string(3 + evicted);
    EXPECT_EQ(contradiction(collector),
              evicted < 2 ? "" : "writes (4) is declared as at least " + sum);
    EXPECT_EQ(contradiction(collector, Origins::kAll),
              evicted == 1 ? "" : "writes (4) is declared as " + sum);
  }
}

TEST(StatisticsCheck, LinesCountAsTheirBytes) {
  for (const std::uint64_t bytes : {192, 128}) {
    StatisticsCollector collector;
    collector("bytes", bytes, "bytes", "Bytes");
    collector("lines", std::uint64_t{3}, "lines", "Lines", share_of("bytes").each(64));
    EXPECT_EQ(contradiction(collector), bytes == 192 ? ""
                                                     : "bytes (128) is declared as the sum of 64 "
                                                       "times lines (3), which is 192");
  }
}

TEST(StatisticsCheck, WaitsOfPartiesAreAtMostTheTimeOfAll) {
  for (const std::int64_t waited : {40'000, 40'001}) {
    StatisticsCollector collector;
    collector.quantity("run.time_ns", Picoseconds{10'000});
    collector("wait_ns", Picoseconds{waited}, "Waits of four banks",
              at_most("run.time_ns").times(4));
    EXPECT_EQ(contradiction(collector),
              waited == 40'000
                  ? ""
                  : "wait_ns (40.001 ns) is declared as at most 4 times run.time_ns (10 ns), but "
                    "is larger");
  }
}

TEST(StatisticsCheck, MeanIsAtMostTheTimeOfTheRun) {
  for (const double mean : {10.0, 10.0 + 1e-9, 10.001}) {
    StatisticsCollector collector;
    collector.quantity("run.time_ns", Picoseconds{10'000});
    collector("latency_ns", mean, "ns", "Mean latency", at_most("run.time_ns"));
    EXPECT_EQ(contradiction(collector),
              mean < 10.0005 ? ""
                             : "latency_ns (10.001 ns) is declared as at most run.time_ns (10 ns), "
                               "but is larger");
  }
}

TEST(StatisticsCheck, SharesOfATimeMayLackLessThanOnePicosecondEach) {
  for (const std::int64_t total : {21, 20, 22, 23}) {
    StatisticsCollector collector;
    collector("total_ns", Picoseconds{total}, "All");
    collector("a_ns", Picoseconds{10}, "One", share_of("total_ns"));
    collector("b_ns", Picoseconds{11}, "Other", share_of("total_ns"));
    EXPECT_EQ(contradiction(collector) == "", total == 21 || total == 22) << total;
  }
}

TEST(StatisticsCheck, SumOfFractionsMayDifferInTheirLastDigits) {
  for (const double total : {0.3, 0.1 + 0.2, 0.300001}) {
    StatisticsCollector collector;
    collector("total", total, "nJ", "All");
    collector("a", 0.1, "nJ", "One", share_of("total"));
    collector("b", 0.2, "nJ", "Other", share_of("total"));
    EXPECT_EQ(contradiction(collector) == "", total < 0.3000005) << total;
  }
}

TEST(StatisticsCheck, UnknownWholeIsAContradiction) {
  StatisticsCollector collector;
  collector("hits", std::uint64_t{0}, "requests", "Hits", part_of("cache.acesses"));
  EXPECT_EQ(contradiction(collector),
            "hits is declared as related to cache.acesses, which this run does not have");
}

TEST(StatisticsCheck, QuantityIsCheckedAndNotPublished) {
  StatisticsCollector collector;
  collector("reads", std::uint64_t{2}, "requests", "Reads");
  collector.quantity("answered", std::uint64_t{1}, share_of("reads"));
  ASSERT_EQ(collector.found.size(), 1u);
  EXPECT_EQ(contradiction(collector),
            "reads (2) is declared as the sum of answered (1), which is 1");
}

// A relation of the whole to another group would count twice if its shares repeated it.
struct Counted {
  std::uint64_t count = 0, part = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("count", count, "requests", "Requests", share_of("all.requests"));
    visit("part", part, "requests", "Some of them", part_of("count"));
  }
};

TEST(StatisticsCheck, GroupsThatShareAnotherAddUpToItStatisticByStatistic) {
  for (const std::uint64_t part : {1, 0}) {
    StatisticsCollector collector;
    collector("all.requests", std::uint64_t{5}, "requests", "All");
    collector.group("core", Counted{5, 2});
    collector.share("core0", Counted{3, 1}, "core");
    collector.share("core1", Counted{2, part}, "core");
    EXPECT_EQ(collector.relations(), 2u + 2u * 3u);
    EXPECT_EQ(contradiction(collector), part == 1 ? ""
                                                  : "core.part (2) is declared as the sum of "
                                                    "core0.part (1) + core1.part (0), which is 1");
  }
}

TEST(StatisticsCheck, PartOfAGroupThatSharesAnotherIsChecked) {
  StatisticsCollector collector;
  collector("all.requests", std::uint64_t{1}, "requests", "All");
  collector.group("core", Counted{1, 1});
  collector.share("core0", Counted{0, 1}, "core");
  collector.share("core1", Counted{1, 0}, "core");
  EXPECT_EQ(contradiction(collector),
            "core0.part (1) is declared as a part of core0.count (0), but is larger");
}

}  // namespace
}  // namespace pmemsim
