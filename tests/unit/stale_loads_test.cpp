// Crash verification of loads that read stale data (crash/crash.hpp, rule 5). A test layer reports
// each load of one word as stale, and then acts as the test has planned.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "pmemsim/crash/crash.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "speculating_layers.hpp"
#include "unit/crash_machine.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::TraceBuilder;

constexpr std::uint64_t kMisread = kPmBase, kWritten = kPmBase + kLineBytes;

enum class Answers : std::uint8_t { kNothing, kReports, kTakesBack };
Answers answers = Answers::kNothing;  // answers of the running test

class Misreading final : public NoOrdering {
 public:
  void connect(const LayerContext& context) override { context_.emplace(context); }
  std::uint32_t interests() const override { return kLoads | kVisibleStores | kRewind; }
  void visible(CoreId, Line line) override { persist(line); }
  void restored(CoreId, std::uint64_t address, std::uint32_t) override {
    persist(Line::of(address));
  }
  void load(const Load& load, Time) override {
    if (load.address != kMisread || misread_once_) return;
    misread_once_ = true;  // once: executed again, the region reads it right
    context_->program_events.stale_load(load.core, load.region, load.line());
    if (answers == Answers::kNothing) return;
    context_->queue.schedule(context_->queue.now() + Picoseconds{1000}, Phase::kController,
                             completion<&Misreading::answer>(*this, load.core));
  }

 private:
  void persist(Line line) {
    context_->pm.persisted_in_caches(line, context_->pm_space.newest().read(line));
  }
  void answer(std::uint64_t core, Time) {
    if (answers == Answers::kReports) {
      context_->program_events.stale_line_reported(Line::of(kMisread));
    } else {
      context_->threads.rewind(static_cast<CoreId>(core));
    }
  }

  std::optional<LayerContext> context_;
  bool misread_once_ = false;
};

CrashResult crash_misreading(bool in_region, Answers planned, bool any_region = true) {
  answers = planned;
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const auto load = builder.site(SiteKind::kLoad, 8, 1);
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  if (!in_region) builder.access(load, kMisread);
  if (any_region) builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kWritten, 1);
  if (in_region) builder.access(load, kMisread);
  for (int i = 0; i < 1000; ++i) builder.external(8);  // long enough to be rolled back
  builder.store(store, kWritten, 2);
  if (any_region) builder.mark(MarkKind::kRegionEnd, 1);

  ChoiceTable table = with_speculation();
  table.push_back({.name = "misreading",
                   .summary = "Reports loads of one word",
                   .needs = {kRegionsAgain},
                   .promises = {.stores_in_order = true,
                                .caches_persist = true,
                                .fences = FencePromise::kStores},
                   .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
                     return std::make_unique<Misreading>();
                   }});
  const TemporaryTrace temporary(builder);
  return crash(trace::TraceFile(temporary.path()),
               configure(settings({{"ordering", "misreading"},
                                   {"atomicity", "undo-bytes"},
                                   {"core.count", "1"},
                                   {"core.run_ahead", "1ns"}}),
                         table),
               {}, {});
}

std::string story_of(const CrashResult& result) {
  std::string text;
  if (result.explanation) {
    for (const std::string& line : result.explanation->lines) text += line + "\n";
  }
  return text;
}

TEST(StaleLoads, StaleLoadInACommittedRegionIsAViolation) {
  const CrashResult result = crash_misreading(true, Answers::kNothing);
  EXPECT_GT(result.violations, 0u);
  EXPECT_NE(story_of(result).find("region 1 of thread 0 read line"), std::string::npos)
      << story_of(result);
}

// A region isn't correct because its stale reads are only reported to software.
TEST(StaleLoads, ReportedStaleLoadInARegionIsAViolation) {
  EXPECT_GT(crash_misreading(true, Answers::kReports).violations, 0u);
}

TEST(StaleLoads, StaleLoadInARolledBackRegionIsNoViolation) {
  const CrashResult result = crash_misreading(true, Answers::kTakesBack);
  EXPECT_EQ(result.violations, 0u) << story_of(result);
  EXPECT_GT(result.points, 2u);
}

TEST(StaleLoads, UnreportedLoadOutsideRegionsIsAViolation) {
  const CrashResult result = crash_misreading(false, Answers::kNothing);
  EXPECT_GT(result.violations, 0u);
  EXPECT_NE(story_of(result).find("was not notified"), std::string::npos) << story_of(result);
}

TEST(StaleLoads, StaleLoadInAProgramWithoutRegionsIsAViolation) {
  const CrashResult result = crash_misreading(false, Answers::kNothing, false);
  EXPECT_NE(story_of(result).find("was not notified"), std::string::npos) << story_of(result);
}

TEST(StaleLoads, ReportedStaleLoadOutsideRegionsIsNoViolation) {
  const CrashResult result = crash_misreading(false, Answers::kReports);
  EXPECT_EQ(result.violations, 0u) << story_of(result);
}

}  // namespace
}  // namespace pmemsim
