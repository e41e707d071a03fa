// At every crash, recovery that continues from the previous crash leaves the same image as redoing
// the whole log. The image lists the lines that such a recovery no longer writes.
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/hw_redo_recovery.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/machine/memory/memory.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "long_tests.hpp"
#include "pmemsim/crash/crash_image.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "shared_regions.hpp"
#include "unit/crash_machine.hpp"
#include "unit/memory_bench.hpp"
#include "unit/whole_redo.hpp"

namespace pmemsim {
namespace {

struct Case {
  std::string name;
  std::vector<KeyValue> design;
  bool goes_on = true;  // now and then at least
};

class Comparison final : public PersistenceObserver {
 public:
  explicit Comparison(const Machine& machine)
      : pm_(machine.pm()),
        design_(dynamic_cast<const HwRedo&>(machine.design().atomicity())),
        recovery_(design_),
        image_(pm_, pm_.device(), recovery_, nullptr) {}

  void persisted(const Write& write, PersistencePoint, Time) override {
    survived_.write(write.line, write.data);
    image_.update_on_device(write.line, write.data);
    compare();
  }
  void persisted_with_next(const Write&) override {}
  void dropped(const Write& write, Time) override {
    survived_.write(write.line, pm_.surviving(write.line));
    image_.update_on_device(write.line, pm_.surviving(write.line));
    compare();
  }
  void survivors_changed(Time) override { compare(); }

  std::uint64_t crashes = 0, stayed = 0, wrong = 0;

 private:
  void compare() {
    ++crashes;
    image_.recover();
    stayed += recovery_.may_keep_image();
    Image recovered;
    survived_.for_each_page([&](std::uint64_t address, const std::byte* page) {
      recovered.write(address, page, Image::kPageBytes);
    });
    recover_redo_log(design_.survivors(), recovered);
    bool same = true;
    recovered.for_each_page([&](std::uint64_t address, const std::byte*) {
      for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
        const Line line = Line::of(address + at);
        const LineData wanted = recovered.read(line), found = image_.read(line);
        // The comparison doesn't use ==, which is a call for each byte without optimisation.
        same = same && std::memcmp(wanted.data(), found.data(), kLineBytes) == 0;
      }
    });
    wrong += !same;
    image_.mark_checked();
    image_.undo_recovery();
  }

  const Memory& pm_;
  const HwRedo& design_;
  RedoRecovery recovery_;
  CrashImage image_;
  Image survived_;
};

// Writes a line in its first run, and no longer writes it from the third one on.
class ReleasingRecovery final : public Recovery {
 public:
  explicit ReleasingRecovery(Line line) : line_(line) {}
  void run(RecoveryView pm) override {
    if (runs_++ == 0) pm.write(line_, data_of(1));
  }
  bool may_keep_image() const override { return true; }
  std::optional<std::vector<Line>> prepare_next_run(RecoveryView) override {
    return runs_ == 2 ? std::vector<Line>{line_} : std::vector<Line>{};
  }

 private:
  const Line line_;
  int runs_ = 0;
};

// The line has its surviving contents again, so it must be checked again.
TEST(CrashImage, LineThatRecoveryNoLongerWritesHasChanged) {
  const MemoryBench bench(simple_memory());
  const Line line = Line::of(kPmBase);
  ReleasingRecovery recovery(line);
  CrashImage image(bench.memory, Image(), recovery, nullptr);
  const std::vector<Line> none, only{line};
  for (const std::vector<Line>& changed : {only, only, only, none}) {
    image.recover();
    EXPECT_EQ(image.changed(), changed);
    image.mark_checked();
    image.undo_recovery();
  }
  EXPECT_EQ(image.read(line), LineData{});
}

class RedoRecoveryTest : public testing::TestWithParam<Case> {};

// The long form has 8 programs instead of one.
TEST_P(RedoRecoveryTest, RecoveredImageEqualsARedoOfTheWholeLog) {
  std::vector<KeyValue> design{
      {"atomicity", "hw-redo"}, {"core.count", "3"}, {"log.ring_size", "8KiB"}};
  design.insert(design.end(), GetParam().design.begin(), GetParam().design.end());
  std::uint64_t stayed = 0;
  for (std::uint32_t seed = 0; seed < (long_tests() ? 4 : 1); ++seed) {
    SharedRegions program({.seed = seed, .threads = 3, .regions = 60, .lines_per_lock = 12});
    const TemporaryTrace temporary(program.builder);
    const trace::TraceFile trace(temporary.path());
    Machine machine(crash_configuration(design), trace);
    Comparison comparison(machine);
    machine.observe(&comparison);
    ASSERT_TRUE(machine.run({}));
    EXPECT_GT(comparison.crashes, 500u) << "seed " << seed;
    EXPECT_EQ(comparison.wrong, 0u) << "seed " << seed;
    stayed += comparison.stayed;
  }
  EXPECT_EQ(stayed > 0, GetParam().goes_on);
}

INSTANTIATE_TEST_SUITE_P(
    Every, RedoRecoveryTest,
    testing::Values(
        Case{"lazy", {{"hw_redo.in_place", "lazy"}}},
        Case{"eager", {{"hw_redo.in_place", "eager"}}},
        Case{"small_dram_cache",
             {{"hw_redo.in_place", "lazy"}, {"hw_redo.dram_cache_size", "1KiB"}}},
        Case{"buffered_headers", {{"hw_redo.in_place", "lazy"}, {"log.header_entries", "4"}}},
        Case{"adr_buffered", {{"hw_redo.in_place", "lazy"}, {"log.metadata", "adr-buffered"}}},
        Case{"queue_buffered", {{"hw_redo.in_place", "lazy"}, {"log.metadata", "queue-buffered"}}},
        Case{"spilled_headers",
             {{"hw_redo.in_place", "lazy"},
              {"log.metadata", "queue-buffered"},
              {"log.header_entries", "4"}}},
        Case{"load_aware", {{"hw_redo.in_place", "lazy"}, {"log.allocation", "load-aware"}}, false},
        Case{"per_core",
             {{"hw_redo.in_place", "lazy"}, {"hw_redo.commit_order", "per-core"}},
             false},
        Case{"broken_commit", {{"hw_redo.in_place", "lazy"}, {"pmemsim.faults", "log.commit"}}},
        Case{"late_headers",
             {{"hw_redo.in_place", "lazy"},
              {"log.header_entries", "0"},
              {"pmemsim.faults", "log.commit"}}},
        Case{"broken_release", {{"hw_redo.in_place", "lazy"}, {"pmemsim.faults", "log.release"}}},
        Case{"broken_headers",
             {{"hw_redo.in_place", "lazy"},
              {"log.header_entries", "4"},
              {"pmemsim.faults", "log.headers"}}},
        Case{"broken_queue",
             {{"hw_redo.in_place", "lazy"},
              {"log.metadata", "queue-buffered"},
              {"log.header_entries", "4"},
              {"pmemsim.faults", "log.headers"}}},
        Case{"broken_order", {{"hw_redo.in_place", "lazy"}, {"pmemsim.faults", "log.order"}}}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace pmemsim
