// Crashes of a design whose fences don't stall the core, like HOPS's ofence. Stores persist in
// program order. A fence's guarantee is fulfilled when the stores before it are persistent,
// possibly long after the core has continued.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "delaying_backend.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/interface/persist_port.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "shared_regions.hpp"

namespace pmemsim {
namespace {

enum class Manner {
  kSound,
  kTellsAtOnce,     // a fence is reported as fulfilled when the core continues
  kTellsWhenSent,   // ... when the stores before it have left for the controller
  kTellsLate,       // ... when a later fence is fulfilled, or never
  kSendsAllAtOnce,  // no store waits until the one before is persistent
};

// A buffer of all cores' stores and fences, in the order in which they became visible or came.
template <Manner kManner>
class PersistBuffer final : public Ordering {
 public:
  void connect(const LayerContext& context) override {
    port_.connect(context);
    pm_space_ = &context.pm_space;
    program_events_ = &context.program_events;
  }
  Lowering lowering() const override {
    Lowering lowering;
    lowering.keeps_flushes.fill(false);
    return lowering;
  }
  std::uint32_t interests() const override { return kVisibleStores | kEvictions; }

  void visible(CoreId core, Line line) override {
    const LineData data = pm_space_->newest().read(line);
    enter({.core = core, .line = line, .data = data});
  }
  bool fence(const Fence& fence, Time, Completion) override {
    if (kManner == Manner::kTellsAtOnce) {
      program_events_->fence_fulfilled(fence.core, fence.number);
    } else {
      enter({.core = fence.core, .fence = fence.number});
    }
    return true;
  }
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  Eviction evicted(Line, const LineData&, Time) override { return Eviction::kTaken; }
  bool may_leave(Line) const override { return false; }
  std::string pending() const override { return waiting_.empty() ? "" : "stores in the buffer"; }

  // Returns the number of fences that were fulfilled after a later store of their core.
  std::uint64_t late() const { return late_; }

 private:
  struct Waiting {
    CoreId core = 0;
    std::uint64_t fence = 0;  // 0: a store
    Line line{};
    LineData data{};
    bool sent = false, persistent = false;
  };

  void enter(const Waiting& one) {
    waiting_.emplace(++entered_, one);
    proceed();
  }
  // The buffer's head, until that has to wait.
  void proceed() {
    if (kManner == Manner::kSendsAllAtOnce) {
      for (auto& [number, each] : waiting_) send(number, each);
    }
    while (!waiting_.empty()) {
      auto& [number, head] = *waiting_.begin();
      if (head.fence == 0 && !head.persistent) {
        send(number, head);
        if (kManner == Manner::kTellsWhenSent) tell_behind_head();
        return;
      }
      if (head.fence != 0) tell(head);
      waiting_.erase(waiting_.begin());
    }
  }
  void send(std::uint64_t number, Waiting& one) {
    if (one.fence != 0 || one.sent) return;
    one.sent = true;
    port_.send(one.core, {.line = one.line, .data = one.data, .persisted = {}, .written = {}},
               completion<&PersistBuffer::acknowledged>(*this, number));
  }
  void acknowledged(std::uint64_t number, Time) {
    waiting_.at(number).persistent = true;
    proceed();
  }
  void tell(const Waiting& fence) {
    const std::uint64_t before = std::exchange(last_fences_[fence.core], fence.fence);
    const std::uint64_t reported = kManner == Manner::kTellsLate ? before : fence.fence;
    if (reported == 0) return;
    late_ += std::ranges::any_of(waiting_, [&](const auto& other) {
      return other.second.core == fence.core && other.second.fence == 0;
    });
    program_events_->fence_fulfilled(fence.core, reported);
  }
  void tell_behind_head() {
    for (auto next = std::next(waiting_.begin()); next != waiting_.end() && next->second.fence != 0;
         next = waiting_.erase(next)) {
      tell(next->second);
    }
  }

  PersistPort port_;
  const PmSpace* pm_space_ = nullptr;
  const ProgramEvents* program_events_ = nullptr;
  std::map<std::uint64_t, Waiting> waiting_;     // by number: in their order
  std::map<CoreId, std::uint64_t> last_fences_;  // reported, or reported next
  std::uint64_t entered_ = 0, late_ = 0;
};

template <Manner kManner>
Choice row(std::string_view name) {
  return {.name = name,
          .summary = "Stores go to PM in program order; fences stall no core",
          .promises = {.fences = FencePromise::kStores},
          .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
            return std::make_unique<PersistBuffer<kManner>>();
          }};
}

// Writes are held for random times, so that none is persistent before another one by chance.
Configuration buffered(std::string_view ordering) {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = with_delaying_backend();
    table.push_back(row<Manner::kSound>("sound"));
    table.push_back(row<Manner::kTellsAtOnce>("tells-at-once"));
    table.push_back(row<Manner::kTellsWhenSent>("tells-when-sent"));
    table.push_back(row<Manner::kTellsLate>("tells-late"));
    table.push_back(row<Manner::kSendsAllAtOnce>("sends-all-at-once"));
    return table;
  }();
  return configure(settings({{"ordering", ordering},
                             {"atomicity", "none"},
                             {"backend", "delaying"},
                             {"pm.wpq_entries", "2"},
                             {"pm.controllers", "2"},
                             {"pm.page_size", "64B"}}),
                   kTable);
}

std::string problem(std::string_view ordering) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const SharedRun run = crash_shared({.seed = seed, .threads = 2}, buffered(ordering));
    EXPECT_GT(run.crashes, 20u);
    if (!run.problem.empty()) return run.problem;
  }
  return "";
}

TEST(NonStallingFence, FenceIsFulfilledLongAfterItsCoreContinues) {
  SharedRegions program({.seed = 1});
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(buffered("sound"), file);
  EXPECT_TRUE(machine.run({}));
  const auto& ordering =
      dynamic_cast<const PersistBuffer<Manner::kSound>&>(machine.design().ordering());
  EXPECT_GT(ordering.late(), 10u);
}

TEST(NonStallingFence, SoundDesignFulfilsItsGuarantee) { EXPECT_EQ(problem("sound"), ""); }

TEST(NonStallingFence, FenceReportedTooEarlyIsDetected) {
  EXPECT_NE(problem("tells-at-once"), "");
  EXPECT_NE(problem("tells-when-sent"), "");
}

// A late notification of a durable fence is no violation, and no crash can show it: the guarantee
// held before. The order of later stores doesn't depend on the notification.
TEST(NonStallingFence, FenceReportedLateIsNoViolation) { EXPECT_EQ(problem("tells-late"), ""); }

TEST(NonStallingFence, UnorderedStoresAreDetected) { EXPECT_NE(problem("sends-all-at-once"), ""); }

}  // namespace
}  // namespace pmemsim
