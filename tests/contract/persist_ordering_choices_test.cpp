// Random programs survive every crash when the points that the papers of DPO and HOPS leave open
// are decided otherwise than by default. (The choices of PMEM-Spec are among the conditions of
// misspeculation_test.cpp.)
#include <gtest/gtest.h>

#include <string>

#include "logged_regions.hpp"
#include "long_tests.hpp"
#include "shared_regions.hpp"

namespace pmemsim {
namespace {

struct OpenChoice {
  const char* ordering;
  const char* key;
  const char* value;
};

class PersistOrderingChoices : public testing::TestWithParam<OpenChoice> {
 protected:
  // Tiny caches, and a controller that is often full.
  static std::string problem(trace::TraceBuilder& builder, const char* atomicity) {
    const TemporaryTrace temporary(builder);
    const trace::TraceFile file(temporary.path());
    const Configuration configuration = configure(settings({{"ordering", GetParam().ordering},
                                                            {"atomicity", atomicity},
                                                            {"core.count", "8"},
                                                            {"l1.size", "256B"},
                                                            {"l1.ways", "2"},
                                                            {"l2.size", "0B"},
                                                            {"shared.size", "1KiB"},
                                                            {"shared.size_per_core", "0B"},
                                                            {"shared.ways", "2"},
                                                            {"pm.device", "fixed"},
                                                            {"pm.write_latency", "94ns"},
                                                            {"pm.wpq_entries", "2"},
                                                            {"dpo.path_latency", "100ns"},
                                                            {"hops.path_latency", "100ns"},
                                                            {GetParam().key, GetParam().value}}));
    const CrashResult result = crash(file, configuration, {}, {});
    EXPECT_GT(result.points, 0u);
    std::string reported;
    if (!result.explanation) return reported;
    for (const std::string& line : result.explanation->lines) reported += line + "\n";
    return reported;
  }
  const std::uint32_t programs_ = long_tests() ? 20 : 6;
};
INSTANTIATE_TEST_SUITE_P(, PersistOrderingChoices,
                         testing::Values(OpenChoice{"dpo", "dpo.token_until", "acknowledged"},
                                         OpenChoice{"dpo", "dpo.turn", "oldest"},
                                         OpenChoice{"dpo", "dpo.draining_fences", "all"},
                                         OpenChoice{"hops", "hops.ofence", "ends-epoch"},
                                         OpenChoice{"hops", "hops.dfence_stops", "store-queue"}),
                         [](const auto& info) {
                           std::string name = info.param.key;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST_P(PersistOrderingChoices, RegionsOfSoftwareLogsSurviveEveryCrash) {
  for (std::uint32_t seed = 1; seed <= programs_; ++seed) {
    const bool redo = seed % 2 == 0;
    LoggedRegions program(redo ? trace::ProgramLog::kRedo : trace::ProgramLog::kUndo, seed,
                          1 + seed % 8, 16, 8);
    EXPECT_EQ(problem(program.builder, redo ? "software-redo" : "software-undo"), "") << seed;
  }
}

TEST_P(PersistOrderingChoices, StoresOutsideRegionsPersistInOrder) {
  for (std::uint32_t seed = 1; seed <= programs_; ++seed) {
    SharedRegions program(
        {.seed = seed, .threads = 2 + seed % 3, .locks_inside = true, .false_sharing = true});
    EXPECT_EQ(problem(program.builder, "none"), "") << seed;
  }
}

}  // namespace
}  // namespace pmemsim
