// Configurations: everything that is wrong is said, all at once.
#include <gtest/gtest.h>

#include <algorithm>

#include "delaying_backend.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

std::vector<std::string> problems(std::initializer_list<KeyValue> pairs) {
  try {
    configure(settings(pairs));
  } catch (const ConfigError& error) {
    return error.problems();
  }
  return {};
}
bool mention(const std::vector<std::string>& problems, std::string_view text) {
  return std::any_of(problems.begin(), problems.end(), [&](const std::string& problem) {
    return problem.find(text) != std::string::npos;
  });
}

TEST(Configuration, DefaultsAreLegal) { EXPECT_TRUE(problems({}).empty()); }

TEST(Configuration, AllProblemsAreReportedAtOnce) {
  const auto found = problems({{"core.rob_entires", "64"},
                               {"core.frequency", "2"},
                               {"core.width", "99"},
                               {"ordering", "x85"},
                               {"l2.size", "100000B"},
                               {"pm.write_low_watermark", "0.9"},
                               {"pm.write_high_watermark", "0.1"}});
  EXPECT_TRUE(mention(found, "core.rob_entires: unknown key; did you mean 'core.rob_entries'?"));
  EXPECT_TRUE(mention(found, "core.frequency: '2': missing unit"));
  EXPECT_TRUE(mention(found, "core.width: '99' is too large; at most 16"));
  EXPECT_TRUE(mention(found,
                      "ordering: 'x85' is not one of none, x86, free, eadr, dpo, hops, pmem-spec; "
                      "did you mean 'x86'?"));
  EXPECT_TRUE(mention(found, "l2.size: 100000 bytes can't be divided into"));
  EXPECT_TRUE(mention(found, "pm: "));
  EXPECT_EQ(found.size(), 6u);
}

TEST(Configuration, SharedCacheSmallerThanThePrivateCachesIsRejected) {
  EXPECT_TRUE(mention(problems({{"shared.size", "64KiB"}, {"shared.size_per_core", "0B"}}),
                      "includes the private ones"));
  EXPECT_TRUE(mention(problems({{"l1.size", "0B"}}), "every core needs an L1"));
  EXPECT_TRUE(problems({{"l2.size", "0B"}}).empty());
}

TEST(Configuration, MetadataCacheWithoutASetOrWithAPartialOneIsRejected) {
  const auto of = [](const std::string& backend, const std::string& key, const std::string& size) {
    return problems({{"core.count", "4"}, {"backend", backend}, {key, size}});
  };
  EXPECT_TRUE(mention(of("encryption", "counter_cache.size_per_core", "64B"),
                      "counter_cache.size_per_core * core.count: 256 bytes can't be divided into "
                      "16 ways (counter_cache.ways) of 64-byte lines; choose a multiple of 1024"));
  EXPECT_TRUE(mention(of("integrity", "integrity.cache.size_per_core", "1000B"),
                      "integrity.cache.size_per_core * core.count: 4000 bytes can't be divided"));
  EXPECT_TRUE(mention(of("deduplication", "deduplication.cache.size_per_core", "320B"),
                      "deduplication.cache.size_per_core * core.count: 1280 bytes"));
  EXPECT_EQ(of("encryption,integrity", "counter_cache.size_per_core", "64B").size(), 1u);
  EXPECT_TRUE(of("encryption,integrity", "counter_cache.size_per_core", "256B").empty());
}

TEST(Configuration, TlbWithPartialSetsOrOnlyASecondLevelIsRejected) {
  EXPECT_TRUE(mention(problems({{"tlb.entries", "10"}, {"tlb.ways", "4"}}),
                      "tlb.entries: 10 entries can't be divided into 4 ways (tlb.ways)"));
  EXPECT_TRUE(mention(
      problems({{"tlb.entries", "16"}, {"tlb.second_entries", "9"}, {"tlb.second_ways", "2"}}),
      "tlb.second_entries: 9 entries can't be divided into 2 ways (tlb.second_ways)"));
  EXPECT_TRUE(
      mention(problems({{"tlb.second_entries", "64"}}), "a second TLB requires a first one"));
  EXPECT_TRUE(problems({{"tlb.entries", "16"}, {"tlb.second_entries", "64"}}).empty());
}
TEST(Configuration, ProblemsOfSeveralParametersNameWhereEachWasSet) {
  const std::vector<Setting> list = {
      {"shared.size", "16MiB", "machine.yaml:2"},
      {"shared.size", "64KiB", "machine.yaml:3"},
      {"shared.size_per_core", "0B", "machine.yaml:4"},
      {"l2.size", "3MiB", "--set"},
      {"l1.size", "100000B", "machine.yaml:5"},
      {"pm.write_low_watermark", "0.9", "machine.yaml:6"},
      {"pm.write_high_watermark", "0.1", "design.yaml:7"},
      {"dram.write_low_watermark", "0.999", "--set"},
      {"ordering", "none", "design.yaml:8"},
      {"atomicity", "software-undo", "design.yaml:9"},
  };
  try {
    configure(list);
    FAIL() << "no problem was found";
  } catch (const ConfigError& error) {
    const auto& found = error.problems();
    ASSERT_EQ(found.size(), 5u) << error.what();
    EXPECT_TRUE(found[0].starts_with("machine.yaml:5: l1.size: 100000 bytes")) << found[0];
    EXPECT_TRUE(found[1].starts_with("machine.yaml:3, machine.yaml:4, --set: shared.size + "))
        << found[1];
    EXPECT_EQ(found[2].find("--set: dram: write_low_watermark: 0.999 is above"), 0u) << found[2];
    EXPECT_TRUE(found[3].starts_with("machine.yaml:6, design.yaml:7: pm: write_low_watermark: "))
        << found[3];
    EXPECT_TRUE(found[4].starts_with("design.yaml:9, design.yaml:8: atomicity=software-undo"))
        << found[4];
  }
}

TEST(Configuration, UnreadableValueIsNotComparedWithOtherValues) {
  const auto found = problems({{"shared.size", "64KiB"}, {"shared.size_per_core", "none"}});
  EXPECT_EQ(found.size(), 1u);
  EXPECT_TRUE(mention(found, "shared.size_per_core: 'none' is not a number"));
}

TEST(Configuration, SingleValuesCanBeCheckedWithoutTheOthers) {
  EXPECT_NO_THROW(check_values(settings({{"l2.size", "64MiB"}})));  // more than the default shared
  try {
    check_values(settings({{"l2.size", "64"}, {"l2.sise", "64B"}}));
    FAIL() << "no problem was found";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 2u) << error.what();
  }
}

TEST(Configuration, FrequencyThatIsNoMultipleOf100KhzIsRejected) {
  EXPECT_TRUE(problems({{"core.frequency", "2.1333GHz"}}).empty());
  EXPECT_TRUE(mention(problems({{"core.frequency", "2999999999Hz"}}), "core.frequency"));
}

TEST(Configuration, LastSettingReplacesEarlierSettings) {
  EXPECT_EQ(configure(settings({{"core.width", "2"}, {"core.width", "6"}})).core.width, 6u);
}

TEST(Configuration, SoftwareLogWithoutOrderingIsRejected) {
  EXPECT_TRUE(mention(problems({{"ordering", "none"}, {"atomicity", "software-undo"}}),
                      "choose ordering=x86"));
}

TEST(Configuration, MetadataProblemNamesTheSettingsOfBackendAndLogQueue) {
  const std::vector<Setting> list = {{"backend", "delaying", "design.yaml:3"},
                                     {"pm.log_queue_entries", "16", "machine.yaml:9"}};
  try {
    configure(list, with_delaying_backend());
    FAIL() << "no problem was found";
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.problems().size(), 1u) << error.what();
    EXPECT_TRUE(error.problems()[0].starts_with("design.yaml:3, machine.yaml:9: backend=delaying"))
        << error.problems()[0];
  }
}

TEST(Configuration, MoreThreadsThanCoresAreRejected) {
  trace::TraceBuilder builder;
  const std::uint32_t work = builder.site(trace::SiteKind::kExecute, 0, 4);
  for (const std::uint32_t thread : {0u, 1u, 2u}) builder.thread(thread).plain(work);
  try {
    run_trace(builder, settings({{"core.count", "4"}, {"run.instances", "2"}}));
    FAIL() << "six threads on four cores";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("test: "), 0u) << text;  // where core.count was set
    EXPECT_NE(text.find("6 threads (run.instances=2, each of 3) don't fit on core.count=4 cores"),
              std::string::npos);
    EXPECT_NE(text.find("choose core.count=6"), std::string::npos);
  }
}

// Each thread keeps an entry while it is in a region that waits for a lock.
TEST(Configuration, ListSmallerThanTheNumberOfThreadsIsRejected) {
  trace::TraceBuilder builder;
  const std::uint32_t work = builder.site(trace::SiteKind::kExecute, 0, 4);
  for (const std::uint32_t thread : {0u, 1u, 2u}) builder.thread(thread).plain(work);
  const auto problem = [&](std::string_view atomicity, std::string_view list,
                           std::string_view entries, std::string_view metadata) {
    try {
      run_trace(builder, settings({{"ordering", "x86"},
                                   {"atomicity", atomicity},
                                   {"log.metadata", metadata},
                                   {list, entries}}));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto collated = [&](std::string_view atomicity, std::string_view list,
                            std::string_view entries) {
    return problem(atomicity, list, entries, "collated-header");
  };
  EXPECT_EQ(collated("asap", "asap.dependence_entries", "2"),
            "test: asap.dependence_entries=2 is too small: each of the 3 threads may keep an entry "
            "of a channel while its region waits for a lock; choose asap.dependence_entries=3");
  for (const auto& [atomicity, list] : std::vector<KeyValue>{{"asap", "asap.dependence_entries"},
                                                             {"hw-undo", "log.header_entries"}}) {
    EXPECT_NE(collated(atomicity, list, "2"), "") << list;
    EXPECT_EQ(collated(atomicity, list, "3"), "") << list;
  }
  for (const std::string_view atomicity : {"hw-redo", "lad"}) {
    EXPECT_EQ(collated(atomicity, "log.header_entries", "1"), "") << "headers are written early";
  }
  EXPECT_EQ(collated("asap", "asap.lh_wpq_entries", "1"), "") << "as the paper has it";
  EXPECT_EQ(problem("hw-undo", "log.header_entries", "1", "adr-buffered"), "") << "it has none";
}

TEST(Configuration, CachesTooLargeToSimulateAreRejected) {
  const auto found = problems({{"shared.size", "4GiB"}, {"l2.size", "2GiB"}, {"core.count", "8"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("bytes; at most 17179869184 can be simulated"), std::string::npos)
      << found[0];
}

TEST(Configuration, TooManyLocksInAllInstancesAreRejected) {
  constexpr std::uint32_t kObjects = trace::kMaxSyncObjects / 64;
  trace::TraceBuilder builder;
  builder.sync(trace::SyncKind::kSignal, 0, kObjects, 1);
  // A file of at least as many bytes, for values of chance can't be compressed.
  const std::uint32_t store = builder.site(trace::SiteKind::kStore, 8);
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i <= kObjects / 8; ++i) builder.store(store, 0x1000, random());
  try {
    run_trace(builder, settings({{"run.instances", "64"}, {"core.count", "64"}}));
    FAIL() << "more objects than a trace can have";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("run.instances=64 times, are more than 268435456"), std::string::npos)
        << text;
  }
}

TEST(Configuration, TooManyInstancesAreRejectedWithoutSuggestingMoreCores) {
  trace::TraceBuilder builder;
  const std::uint32_t work = builder.site(trace::SiteKind::kExecute, 0, 4);
  for (const std::uint32_t thread : {0u, 1u, 2u}) builder.thread(thread).plain(work);
  try {
    run_trace(builder, settings({{"run.instances", "22"}}));
    FAIL() << "66 threads on 64 cores";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("run fewer instances"), std::string::npos) << text;
    EXPECT_EQ(text.find("set core.count"), std::string::npos) << text;
  }
}

TEST(Configuration, ListedParametersCanBeSetAgain) {
  std::vector<Setting> list;
  for (const ParameterInfo& info : parameters(configure({}))) {
    EXPECT_FALSE(info.description.empty()) << info.key;
    list.push_back({info.key, info.value, "test"});
  }
  const std::vector<ParameterInfo> again = parameters(configure(list));
  ASSERT_EQ(again.size(), list.size());
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].value, list[i].value);
}

}  // namespace
}  // namespace pmemsim
