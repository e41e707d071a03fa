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
