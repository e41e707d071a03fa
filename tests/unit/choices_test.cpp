// The table of choices: what each layer can be, and which combinations are refused.
#include <gtest/gtest.h>

#include <set>

#include "delaying_backend.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/combination.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "run_trace.hpp"
#include "unchecked.hpp"

namespace pmemsim {
namespace {

std::vector<std::string> problems_of(const std::vector<KeyValue>& some,
                                     const std::vector<KeyValue>& more = {}) {
  return combination_problems(unchecked(settings(some, more)).blueprint());
}

TEST(Choices, NamesAreUniqueWithinALayerAndHaveASummary) {
  std::set<std::pair<Layer, std::string_view>> names;
  for (const Choice& choice : choices()) {
    EXPECT_TRUE(names.insert({choice.layer(), choice.name}).second) << choice.name;
    EXPECT_FALSE(choice.summary.empty()) << choice.name;
  }
}

TEST(Choices, EveryLayerCanBeLeftOut) {
  for (const std::string_view layer : kLayerNames) {
    EXPECT_TRUE(std::any_of(choices().begin(), choices().end(), [&](const Choice& choice) {
      return choice.layer_name() == layer && choice.name == kNoChoice;
    })) << layer;
  }
}

TEST(Choices, LayerDefaultIsTheRowMarkedAsDefault) {
  const DesignConfiguration own(choices());
  EXPECT_EQ(own.ordering().name, "x86");
  EXPECT_EQ(own.atomicity().name, "software-undo");
  EXPECT_EQ(own.precompute().name, kNoChoice);
  EXPECT_TRUE(own.operations().empty());

  // Names are nothing to go by; without a row that says so it is the first.
  ChoiceTable table = choices();
  for (Choice& choice : table) {
    choice.by_default = choice.layer() == Layer::kOrdering && choice.name == "eadr";
    if (choice.name == "software-undo") choice.name = "renamed";
  }
  const DesignConfiguration other(table);
  EXPECT_EQ(other.ordering().name, "eadr");
  EXPECT_EQ(other.atomicity().name, kNoChoice);
}

TEST(Choices, EveryNeedIsProvidedByAnotherChoice) {
  std::set<std::string_view> given;
  for (const Choice& choice : choices()) given.insert(choice.gives.begin(), choice.gives.end());
  for (const Choice& choice : choices()) {
    for (const std::string_view need : choice.needs) {
      EXPECT_TRUE(given.contains(need)) << choice.name << " needs " << need;
    }
  }
}

// A row that guarantees whole regions declares a recovery, and when a region is durable.
TEST(Choices, RowsOfWholeRegionsDeclareRecoveryAndDurability) {
  for (const Choice& choice : choices()) {
    const bool whole = choice.promises.whole_regions;
    EXPECT_EQ(choice.recovery != nullptr, whole) << choice.name;
    // An ordering whose fences don't stall the core declares when a region is durable.
    const bool later = choice.layer() == Layer::kOrdering &&
                       choice.promises.regions == RegionPromise::kWhenDeclared;
    EXPECT_EQ(choice.promises.regions != RegionPromise::kNone, whole || later) << choice.name;
  }
}

// Without this check, a recovery or a guarantee in another layer's row would be ignored.
TEST(Choices, RowWithAFieldOfAnotherLayerIsRejected) {
  const auto problem = [](const Choice& choice) -> std::string {
    ChoiceTable table = choices();
    table.push_back(choice);
    try {
      const DesignConfiguration configuration(table);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Choice operation{.name = "mine", .summary = "Nothing", .make = [](const Blueprint&) {
                     return std::make_unique<BackendOperation>();
                   }};
  EXPECT_EQ(problem(operation), "");
  operation.promises.stores_in_order = true;
  EXPECT_EQ(problem(operation),
            "the row of backend=mine states guarantees, which only ordering and atomicity have");
  operation.promises = {};
  operation.recovery = [](const Atomicity&, const trace::TraceFile&) -> std::unique_ptr<Recovery> {
    return std::make_unique<NoRecovery>();
  };
  EXPECT_EQ(problem(operation),
            "the row of backend=mine states a recovery, which only an atomicity layer has; an "
            "operation has a decoder");
}

TEST(Choices, GuaranteesOfTwoLayersAreCombined) {
  const auto promises = [](const std::vector<KeyValue>& layers) {
    return unchecked(settings(layers)).design.promises();
  };
  EXPECT_FALSE(promises({{"ordering", "none"}, {"atomicity", "none"}}).any());
  const Promises eadr = promises({{"ordering", "eadr"}, {"atomicity", "software-undo"}});
  EXPECT_TRUE(eadr.stores_in_order && eadr.caches_persist && eadr.whole_regions);
  const Promises asap = promises({{"ordering", "x86"}, {"atomicity", "asap"}});
  EXPECT_EQ(asap.fences, FencePromise::kFlushed);
  EXPECT_EQ(asap.regions, RegionPromise::kWhenDeclared);
  EXPECT_FALSE(asap.stores_in_order || asap.caches_persist);
}

TEST(Choices, SoftwareLogWithoutOrderingIsRejectedWithACure) {
  const std::vector<std::string> problems =
      problems_of({{"ordering", "none"}, {"atomicity", "software-undo"}});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0],
            "atomicity=software-undo needs fences that order, which no other layer gives; choose "
            "ordering=x86 or ordering=eadr or ordering=dpo or ordering=hops or ordering=pmem-spec");
}

TEST(Choices, UndoLogWithoutHeaderEntriesIsRejected) {
  const std::vector<std::string> problems =
      problems_of({{"atomicity", "hw-undo"}, {"log.header_entries", "0"}});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("choose log.header_entries=128"), std::string::npos);
  // A redo log's headers may be volatile, lad waits for them, asap has a queue of its own.
  for (const std::string_view atomicity : {"hw-redo", "lad", "asap"}) {
    EXPECT_TRUE(problems_of({{"atomicity", atomicity}, {"log.header_entries", "0"}}).empty());
  }
}

TEST(Choices, WpqTooSmallForTheLogHeadersIsRejected) {
  const auto problems = [](std::string_view atomicity, std::string_view allocation,
                           std::string_view wpq_entries) {
    return problems_of({{"log.metadata", "adr-buffered"},
                        {"core.count", "4"},
                        {"atomicity", atomicity},
                        {"log.allocation", allocation},
                        {"pm.wpq_entries", wpq_entries}});
  };
  for (const std::string_view atomicity : {"hw-undo", "asap"}) {
    EXPECT_FALSE(problems(atomicity, "sequential", "4").empty());
    EXPECT_TRUE(problems(atomicity, "sequential", "5").empty());
    EXPECT_FALSE(problems(atomicity, "load-aware", "8").empty());
    EXPECT_TRUE(problems(atomicity, "load-aware", "9").empty());
  }
  for (const std::string_view atomicity : {"hw-redo", "lad"}) {
    EXPECT_TRUE(problems(atomicity, "load-aware", "1").empty());
  }
  EXPECT_EQ(problems("hw-undo", "load-aware", "8"),
            std::vector<std::string>{
                "atomicity=hw-undo with log.metadata=adr-buffered keeps a header of 2 line(s) for "
                "each of the 4 cores in a channel's write pending queue, beside other writes, and "
                "pm.wpq_entries=8 is too small for that; choose pm.wpq_entries=9 or "
                "log.metadata=collated-header"});
}

TEST(Choices, WpqThatLosesItsWritesInACrashIsRejected) {
  EXPECT_EQ(problems_of({{"pm.persistence", "written"}, {"atomicity", "lad"}}),
            std::vector<std::string>{
                "atomicity=lad keeps a region's lines in the write pending queue, which with "
                "pm.persistence=written doesn't survive a crash; choose pm.persistence=accepted"});
  for (const std::string_view atomicity : {"hw-undo", "hw-redo", "asap"}) {
    const std::vector<KeyValue> written{{"pm.persistence", "written"}, {"atomicity", atomicity}};
    EXPECT_TRUE(problems_of(written, {{"log.metadata", "collated-header"}}).empty());
    const std::vector<std::string> refused =
        problems_of(written, {{"log.metadata", "adr-buffered"}});
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_TRUE(
        refused[0].ends_with("choose pm.persistence=accepted or log.metadata=collated-header"));
  }
}

// "delaying" has a line of metadata.
TEST(Choices, MetadataThatCannotPersistWithItsDataIsRejected) {
  const auto problems = [](const std::vector<KeyValue>& more) {
    const Configuration configuration =
        unchecked(settings({{"backend", "delaying"}}, more), with_delaying_backend());
    return combination_problems(configuration.blueprint());
  };
  const std::string must =
      "backend=delaying has metadata that must become persistent in one step with their data, ";
  EXPECT_TRUE(problems({}).empty());
  EXPECT_EQ(
      problems({{"pm.queue_place", "device"}}),
      std::vector<std::string>{must + "which with pm.queue_place=device reach their queues one "
                                      "after the other; choose pm.queue_place=host"});
  EXPECT_EQ(
      problems({{"pm.persistence", "written"}}),
      std::vector<std::string>{must + "which with pm.persistence=written their banks finish one "
                                      "after the other; choose pm.persistence=accepted"});
  EXPECT_EQ(
      problems({{"pm.log_queue_entries", "8"}}),
      std::vector<std::string>{must + "which pm.log_queue_entries=8 doesn't allow for those of a "
                                      "log; choose pm.log_queue_entries=0"});
  EXPECT_EQ(
      problems({{"pm.wpq_entries", "1"}}),
      std::vector<std::string>{must + "which take up to 2 entries of a channel, and "
                                      "pm.wpq_entries=1 has too few; choose pm.wpq_entries=2"});
  EXPECT_TRUE(problems({{"pm.wpq_entries", "2"}}).empty());
}

TEST(Choices, OperationWithoutMetadataIsAcceptedEverywhere) {
  ChoiceTable table = choices();
  table.push_back({.name = "plain", .summary = "Nothing", .make = [](const Blueprint&) {
                     return std::make_unique<BackendOperation>();
                   }});
  for (const KeyValue& setting :
       {KeyValue{"pm.queue_place", "device"}, KeyValue{"pm.persistence", "written"},
        KeyValue{"pm.log_queue_entries", "8"}, KeyValue{"pm.wpq_entries", "1"}}) {
    const Configuration configuration = unchecked(settings({{"backend", "plain"}, setting}), table);
    EXPECT_TRUE(combination_problems(configuration.blueprint()).empty()) << setting.first;
  }
}

TEST(Choices, CompatibleOrderingAndAtomicityAreAccepted) {
  for (const std::string_view ordering : {"x86", "eadr"}) {
    for (const std::string_view atomicity : {"none", "software-undo"}) {
      EXPECT_TRUE(problems_of({{"ordering", ordering}, {"atomicity", atomicity}}).empty());
    }
  }
}

TEST(Choices, CompressionIsRejectedWithPersistenceWritten) {
  const auto configured = [](std::string_view persistence) {
    configure(settings({{"backend", "compression"}, {"pm.persistence", persistence}}));
  };
  EXPECT_NO_THROW(configured("accepted"));
  EXPECT_THROW(configured("written"), ConfigError);
}

TEST(Choices, BackendOperationsInTheWrongOrderAreRejected) {
  const auto problem = [](std::string_view backend) -> std::string {
    try {
      configure(settings({{"backend", backend}}));
    } catch (const ConfigError& error) {
      return error.problems().at(0);
    }
    return "";
  };
  EXPECT_EQ(
      problem("compression,deduplication,encryption,integrity,error-correction,wear-leveling"), "");
  EXPECT_EQ(problem("oram,encryption,wear-leveling"), "");
  EXPECT_EQ(problem("wear-leveling,oram,compression"),
            "test: backend=wear-leveling,compression lists operations before the operations whose "
            "results they need; choose compression,wear-leveling");
  EXPECT_NE(problem("encryption,deduplication"), "");
  EXPECT_NE(problem("integrity,encryption"), "");
  EXPECT_NE(problem("error-correction,encryption"), "");
}

// The first problem of a PM that encrypts, with PMWeaver and these settings; empty: none.
std::string pmweavers_problem(
    const std::vector<std::pair<std::string_view, std::string_view>>& more) {
  std::vector<std::pair<std::string_view, std::string_view>> all{{"backend", "encryption"},
                                                                 {"precompute", "pmweaver"}};
  all.insert(all.end(), more.begin(), more.end());
  std::vector<Setting> list;
  for (const auto& [key, value] : all) {
    list.push_back({std::string(key), std::string(value), "test"});
  }
  try {
    configure(list);
  } catch (const ConfigError& error) {
    return error.problems().at(0);
  }
  return "";
}

TEST(Choices, OutdatingResultsAtOnceNeedsUnlimitedUnits) {
  using P = std::pair<std::string_view, std::string_view>;
  const P at_once{"backend.outdated_results", "at-once"}, few{"backend.units_per_core", "4"},
      for_all{"backend.units_per_core", "0"};
  EXPECT_EQ(pmweavers_problem({at_once, for_all}), "");
  EXPECT_EQ(pmweavers_problem({few}), "");
  EXPECT_EQ(pmweavers_problem({at_once, few}).find("test: backend.outdated_results=at-once"), 0u);
}

TEST(Choices, PmWeaverArtifactVariantRejectsOtherPredictors) {
  using P = std::pair<std::string_view, std::string_view>;
  const P artifact{"pmweaver.variant", "artifact"}, for_all{"backend.units_per_core", "0"};
  const P at_once{"backend.outdated_results", "at-once"};
  EXPECT_EQ(pmweavers_problem({artifact, at_once, for_all}), "");
  for (const std::string_view key : {"pmweaver.next_pointers", "pmweaver.value_deltas"}) {
    const P predictor{key, "true"};
    EXPECT_EQ(pmweavers_problem({predictor}), "");
    const std::string problem = pmweavers_problem({artifact, at_once, for_all, predictor});
    EXPECT_EQ(problem.find("test: pmweaver.variant=artifact does not support"), 0u);
  }
}

TEST(Choices, PmWeaverArtifactVariantNeedsResultsThatAreRecomputedAtOnceOrNever) {
  EXPECT_EQ(pmweavers_problem({{"pmweaver.variant", "artifact"}})
                .find("test: pmweaver.variant=artifact needs backend.outdated_results=at-once"),
            0u);
}

// A layer that holds several choices takes a list of them.
TEST(Choices, BackendTakesAListOfOperations) {
  ChoiceTable table = choices();
  for (const std::string_view name : {"first", "second"}) {
    table.push_back({.name = name, .summary = "Nothing", .make = [](const Blueprint&) {
                       return std::make_unique<BackendOperation>();
                     }});
  }
  const auto backend = [&](std::string_view value) {
    std::string names;
    for (const Choice* const operation :
         configure(settings({{"backend", value}}), table).design.operations()) {
      names += std::string(operation->name) + " ";
    }
    return names;
  };
  EXPECT_EQ(backend("none"), "");
  EXPECT_EQ(backend("second"), "second ");
  EXPECT_EQ(backend("second,first"), "second first ");
  const auto problem = [&](std::string_view value) -> std::string {
    try {
      backend(value);
    } catch (const ConfigError& error) {
      return error.problems().at(0);
    }
    return "";
  };
  EXPECT_EQ(problem("first,none"), "test: backend: 'none' must be the only value");
  EXPECT_EQ(problem("first,first"), "test: backend: 'first' is given twice");
  std::string names;
  for (const Choice& choice : table) {
    if (choice.layer() == Layer::kBackend)
      names += (names.empty() ? "" : ", ") + std::string(choice.name);
  }
  EXPECT_EQ(problem("secnd"),
            "test: backend: 'secnd' is not one of " + names + "; did you mean 'second'?");
  EXPECT_EQ(problem(""), "test: backend: '' is not one of " + names);
}

}  // namespace
}  // namespace pmemsim
