// Every image that a crash of the simulated machine leaves is one that the design's guarantees
// allow on some machine. A machine with an injected fault also leaves images that the guarantees do
// not allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "logged_regions.hpp"
#include "pmemsim/checks/images/design_guarantees.hpp"
#include "pmemsim/crash/oracle.hpp"
#include "shared_regions.hpp"
#include "unit/guaranteed_program.hpp"

namespace pmemsim {
namespace {

// Counts images that the machine leaves, and those of them that the guarantees don't allow.
class AllowedImagesChecker final : public ExternalChecker, public Oracle::ImageReader {
 public:
  AllowedImagesChecker(const Configuration& configuration, const trace::TraceFile& trace)
      : design_(guarantees_of(configuration, trace)),
        history_(trace, design_.lowering, design_.guarantees),
        oracle_(history_) {
    for (std::uint32_t word = 0; word < history_.words(); ++word) {
      lines_.insert(Line::of(history_.word(word).address).number);
    }
  }
  // If nothing is guaranteed to be durable, the oracle accepts any set of units that contains all
  // units that its units follow.
  void show(const Image& image) override {
    image_ = &image;
    std::vector<Line> lines;
    for (const std::uint64_t number : lines_) lines.push_back(Line{number});
    ++shown;
    outside += oracle_.check_image(*this, lines) ? 1 : 0;
  }
  bool wants_wrong_images() const override { return true; }
  std::map<std::uint64_t, std::string> wrong() override { return {}; }
  LineData read(Line line) const override { return image_->read(line); }

  std::uint64_t shown = 0, outside = 0;

 private:
  const DesignGuarantees design_;
  const ProgramHistory history_;
  Oracle oracle_;
  std::set<std::uint64_t> lines_;
  const Image* image_ = nullptr;
};

struct Containment {
  std::uint64_t shown, outside, violations;
};
Containment crash_and_compare(trace::TraceBuilder& builder, const Configuration& configuration) {
  const TemporaryTrace temporary(builder);
  const trace::TraceFile trace(temporary.path());
  AllowedImagesChecker checker(configuration, trace);
  const CrashResult result = crash(
      trace, configuration,
      {.subsets = 1, .external_checker = &checker, .inspections = CrashOptions::kAllImages}, {});
  return {checker.shown, checker.outside, result.violations};
}

// Small caches and queues, so that lines persist early and late.
Configuration small_machine(std::string_view ordering, std::string_view atomicity,
                            const std::vector<KeyValue>& more = {}) {
  return configure(settings({{"ordering", ordering},
                             {"atomicity", atomicity},
                             {"core.count", "4"},
                             {"l1.size", "256B"},
                             {"l1.ways", "2"},
                             {"l2.size", "0B"},
                             {"shared.size", "2KiB"},
                             {"shared.size_per_core", "0B"},
                             {"shared.ways", "2"},
                             {"pm.wpq_entries", "4"},
                             {"pm.controllers", "2"},
                             {"log.ring_size", "4KiB"},
                             {"log.free_entries", "16"},
                             {"log.free_headers", "16"}},
                            more));
}

struct Layered {
  std::string_view ordering, atomicity;
};
class DesignImagesContract : public testing::TestWithParam<Layered> {};

class RegionsByHardware : public DesignImagesContract {};
INSTANTIATE_TEST_SUITE_P(Designs, RegionsByHardware,
                         testing::Values(Layered{"x86", "hw-undo"}, Layered{"x86", "hw-redo"},
                                         Layered{"x86", "asap"}, Layered{"x86", "lad"}));

TEST_P(RegionsByHardware, CrashesLeaveOnlyAllowedImages) {
  std::uint64_t shown = 0;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    SharedRegions program({.seed = seed,
                           .threads = 1 + seed % 3,
                           .regions = 30,
                           .locks_inside = GetParam().atomicity == "asap" && seed % 2 == 0,
                           .locks_until_after_end = seed % 4 == 1});
    const Configuration machine = small_machine(GetParam().ordering, GetParam().atomicity);
    const Containment found = crash_and_compare(program.builder, machine);
    EXPECT_EQ(found.violations, 0) << seed;
    EXPECT_EQ(found.outside, 0) << seed;
    shown += found.shown;
  }
  EXPECT_GT(shown, 1'000);
}

class RegionsBySoftware : public DesignImagesContract {};
INSTANTIATE_TEST_SUITE_P(
    Designs, RegionsBySoftware,
    testing::Values(Layered{"x86", "software-undo"}, Layered{"x86", "software-redo"},
                    Layered{"eadr", "software-undo"}, Layered{"eadr", "software-redo"},
                    Layered{"dpo", "software-undo"}, Layered{"dpo", "software-redo"},
                    Layered{"hops", "software-undo"}, Layered{"hops", "software-redo"},
                    Layered{"pmem-spec", "software-undo"}, Layered{"pmem-spec", "software-redo"}));

TEST_P(RegionsBySoftware, CrashesLeaveOnlyAllowedImages) {
  std::uint64_t shown = 0;
  const bool redo = GetParam().atomicity == "software-redo";
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    LoggedRegions program(redo ? trace::ProgramLog::kRedo : trace::ProgramLog::kUndo, seed,
                          1 + seed % 3, 30);
    const Configuration machine = small_machine(GetParam().ordering, GetParam().atomicity);
    const Containment found = crash_and_compare(program.builder, machine);
    EXPECT_EQ(found.violations, 0) << seed;
    EXPECT_EQ(found.outside, 0) << seed;
    shown += found.shown;
  }
  EXPECT_GT(shown, 1'000);
}

// Regions among stores, flushes and fences outside of them; or these alone.
struct Mixed {
  Layered layers;
  bool locks_inside = false;
};
class MixedPrograms : public testing::TestWithParam<Mixed> {};
INSTANTIATE_TEST_SUITE_P(Designs, MixedPrograms,
                         testing::Values(Mixed{{"x86", "none"}}, Mixed{{"eadr", "none"}},
                                         Mixed{{"dpo", "none"}}, Mixed{{"hops", "none"}},
                                         Mixed{{"pmem-spec", "none"}}, Mixed{{"x86", "hw-undo"}},
                                         Mixed{{"x86", "hw-redo"}}, Mixed{{"x86", "lad"}},
                                         Mixed{{"x86", "asap"}}, Mixed{{"x86", "asap"}, true}));

guaranteed::Deeds mixed_deeds(std::uint32_t seed, std::uint32_t threads, bool locks_inside) {
  std::mt19937 random(seed);
  return guaranteed::RandomDeeds(random, {.least = 150,
                                          .most = 200,
                                          .threads = threads,
                                          .own_lines = 4,
                                          .lock_lines = 6,
                                          .words = 8,
                                          .locks_inside = locks_inside})
      .deeds;
}

TEST_P(MixedPrograms, CrashesLeaveOnlyAllowedImages) {
  std::uint64_t shown = 0;
  const auto [layers, locks_inside] = GetParam();
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const std::uint32_t threads = 1 + seed % 3;
    guaranteed::DeedRecorder program(mixed_deeds(seed, threads, locks_inside), threads, true);
    const Containment found =
        crash_and_compare(program.builder, small_machine(layers.ordering, layers.atomicity));
    EXPECT_EQ(found.violations, 0) << seed;
    EXPECT_EQ(found.outside, 0) << seed;
    shown += found.shown;
  }
  EXPECT_GT(shown, 1'000);
}

// A design with an injected fault leaves images that aren't allowed.
struct Broken {
  Layered layers;
  std::string_view defect;
  bool regions;
};
class DesignWithInjectedFault : public testing::TestWithParam<Broken> {};
INSTANTIATE_TEST_SUITE_P(Designs, DesignWithInjectedFault,
                         testing::Values(Broken{{"x86", "asap"}, "asap.dependences", true},
                                         Broken{{"x86", "asap"}, "asap.lock_bit", true},
                                         Broken{{"x86", "hw-undo"}, "log.order", true},
                                         Broken{{"x86", "hw-redo"}, "log.order", true},
                                         Broken{{"x86", "lad"}, "log.order", true},
                                         Broken{{"x86", "none"}, "x86.fence", false},
                                         Broken{{"eadr", "none"}, "eadr.order", false},
                                         Broken{{"dpo", "none"}, "dpo.order", false},
                                         Broken{{"hops", "none"}, "hops.epochs", false},
                                         Broken{{"hops", "none"}, "hops.dependences", false}));

TEST_P(DesignWithInjectedFault, CrashesLeaveImagesThatAreNotAllowed) {
  const Broken& broken = GetParam();
  std::uint64_t outside = 0;
  for (std::uint32_t seed = 0; seed < 200 && outside == 0; ++seed) {
    const Configuration machine = small_machine(broken.layers.ordering, broken.layers.atomicity,
                                                {{"pmemsim.faults", broken.defect},
                                                 {"pm.interleaving", "line"},
                                                 {"pm.wpq_entries", "2"},
                                                 {"pm.latency_factor", "8"}});
    if (broken.regions) {
      SharedRegions program({.seed = seed, .threads = 2, .regions = 40});
      outside += crash_and_compare(program.builder, machine).outside;
    } else {
      guaranteed::DeedRecorder program(mixed_deeds(seed, 3, false), 3, true);
      outside += crash_and_compare(program.builder, machine).outside;
    }
  }
  EXPECT_GT(outside, 0);
}

}  // namespace
}  // namespace pmemsim
