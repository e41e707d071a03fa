// The registry: what each layer can be, and which combinations are refused.
#include <gtest/gtest.h>

#include <set>

#include "pmemsim/registry.hpp"

namespace pmemsim {
namespace {

TEST(Registry, DescribesEveryChoiceOnceInTheOrderOfTheEnums) {
  std::vector<std::pair<std::string, std::string>> expected;
  const auto add = [&](const std::string& layer, auto choice) {
    for (const std::string_view name : choice_names(choice)) {
      expected.emplace_back(layer, std::string(name));
    }
  };
  add("ordering", OrderingChoice{});
  add("atomicity", AtomicityChoice{});
  add("backend", BackendChoice{});
  add("precompute", PrecomputeChoice{});
  std::vector<std::pair<std::string, std::string>> described;
  for (const LayerChoice& choice : layer_choices()) {
    described.emplace_back(std::string(choice.layer), std::string(choice.name));
    EXPECT_FALSE(choice.summary.empty());
  }
  EXPECT_EQ(described, expected);
}

TEST(Registry, EveryNeedIsGivenBySomebody) {
  std::set<std::string_view> given;
  for (const LayerChoice& choice : layer_choices()) {
    given.insert(choice.gives.begin(), choice.gives.end());
  }
  for (const LayerChoice& choice : layer_choices()) {
    for (const std::string_view need : choice.needs) {
      EXPECT_TRUE(given.contains(need)) << choice.name << " needs " << need;
    }
  }
}

TEST(Registry, RefusesALogWithoutOrderAndNamesTheCure) {
  Configuration configuration;
  configuration.ordering = OrderingChoice::kNone;
  configuration.atomicity = AtomicityChoice::kSoftwareUndo;
  const std::vector<std::string> problems = combination_problems(configuration);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0],
            "atomicity=software-undo needs fences that order, which no other layer gives; choose "
            "ordering=x86 or ordering=eadr");
}

TEST(Registry, RefusesAnUndoLogWithoutAPlaceForHeaders) {
  Configuration configuration;
  configuration.ordering = OrderingChoice::kX86;
  configuration.log.header_entries = 0;
  configuration.atomicity = AtomicityChoice::kHwUndo;
  const std::vector<std::string> problems = combination_problems(configuration);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("choose log.header_entries=128"), std::string::npos);
  // A redo log's headers may be volatile, lad waits for them, asap has a queue of its own.
  for (const auto atomicity :
       {AtomicityChoice::kHwRedo, AtomicityChoice::kLad, AtomicityChoice::kAsap}) {
    configuration.atomicity = atomicity;
    EXPECT_TRUE(combination_problems(configuration).empty());
  }
}

TEST(Registry, RefusesAWritePendingQueueTooSmallForTheCoresHeaders) {
  Configuration configuration;
  configuration.ordering = OrderingChoice::kX86;
  configuration.log.metadata = LogMetadata::kAdrBuffered;
  configuration.core.count = 4;
  const auto refused = [&](AtomicityChoice atomicity, LogAllocation allocation,
                           std::uint32_t wpq_entries) {
    configuration.atomicity = atomicity;
    configuration.log.allocation = allocation;
    configuration.pm.wpq_entries = wpq_entries;
    return !combination_problems(configuration).empty();
  };
  for (const auto atomicity : {AtomicityChoice::kHwUndo, AtomicityChoice::kAsap}) {
    EXPECT_TRUE(refused(atomicity, LogAllocation::kSequential, 4));
    EXPECT_FALSE(refused(atomicity, LogAllocation::kSequential, 5));
    EXPECT_TRUE(refused(atomicity, LogAllocation::kLoadAware, 8));
    EXPECT_FALSE(refused(atomicity, LogAllocation::kLoadAware, 9));
  }
  for (const auto atomicity : {AtomicityChoice::kHwRedo, AtomicityChoice::kLad}) {
    EXPECT_FALSE(refused(atomicity, LogAllocation::kLoadAware, 1));
  }
  ASSERT_TRUE(refused(AtomicityChoice::kHwUndo, LogAllocation::kLoadAware, 8));
  EXPECT_EQ(combination_problems(configuration)[0],
            "atomicity=hw-undo with log.metadata=adr-buffered keeps a header of 2 line(s) for each "
            "of the 4 cores in a channel's write pending queue, beside other writes, and "
            "pm.wpq_entries=8 is too small for that; choose pm.wpq_entries=9 or "
            "log.metadata=collated-header");
}

TEST(Registry, RefusesToKeepInTheWritePendingQueueWhatACrashWouldLose) {
  Configuration configuration;
  configuration.pm.persistence = PersistencePoint::kWritten;
  configuration.atomicity = AtomicityChoice::kLad;
  EXPECT_EQ(combination_problems(configuration),
            std::vector<std::string>{
                "atomicity=lad keeps a region's lines in the write pending queue, which with "
                "pm.persistence=written doesn't survive a crash; choose pm.persistence=accepted"});
  for (const auto atomicity :
       {AtomicityChoice::kHwUndo, AtomicityChoice::kHwRedo, AtomicityChoice::kAsap}) {
    configuration.atomicity = atomicity;
    configuration.log.metadata = LogMetadata::kCollatedHeader;
    EXPECT_TRUE(combination_problems(configuration).empty());
    configuration.log.metadata = LogMetadata::kAdrBuffered;
    ASSERT_EQ(combination_problems(configuration).size(), 1u);
    EXPECT_TRUE(combination_problems(configuration)[0].ends_with(
        "choose pm.persistence=accepted or log.metadata=collated-header"));
  }
}

TEST(Registry, AcceptsWhatFits) {
  for (const auto ordering : {OrderingChoice::kX86, OrderingChoice::kEadr}) {
    for (const auto atomicity : {AtomicityChoice::kNone, AtomicityChoice::kSoftwareUndo}) {
      Configuration configuration;
      configuration.ordering = ordering;
      configuration.atomicity = atomicity;
      EXPECT_TRUE(combination_problems(configuration).empty());
      EXPECT_NE(make_ordering(configuration), nullptr);
      EXPECT_NE(make_atomicity(configuration), nullptr);
    }
  }
}

}  // namespace
}  // namespace pmemsim
