// Pauses of cores and rollbacks of their threads, step by step: the notifications of a layer, the
// restored data, and the duration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/combination.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/machine/cpu/speculative_stores.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "run_trace.hpp"
#include "unchecked.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

constexpr std::uint64_t kA = kPmBase, kB = kPmBase + kLineBytes;
// Instructions that need no place of their own in the window move in groups, of 6 ns here.
constexpr double kGrain = 7;
constexpr std::uint64_t kLock = kDramBase + 64;

// Steps that a test has planned, and the notifications that arrive.
struct Plan {
  enum What : std::uint8_t { kPause, kResume, kRewind };
  struct Step {
    std::int64_t nanoseconds;
    What what;
    CoreId core = 0;
  };
  std::vector<Step> steps;
  std::vector<std::string> notices;
};
Plan* plan = nullptr;  // plan of the running test

class Planned final : public NoOrdering {
 public:
  void connect(const LayerContext& context) override {
    NoOrdering::connect(context);
    context_.emplace(context);
    for (std::size_t i = 0; i < plan->steps.size(); ++i) {
      context.queue.schedule(Time{plan->steps[i].nanoseconds * 1000}, Phase::kController,
                             completion<&Planned::step>(*this, i));
    }
  }
  std::uint32_t interests() const override { return kStores | kVisibleStores | kRewind; }
  bool fence(const Fence& fence, Time, Completion) override {
    plan->notices.push_back("fence " + std::to_string(fence.number));
    return true;
  }
  bool store(const Store& store, Time, Completion) override {
    address_ = store.address;
    return true;
  }
  void visible(CoreId core, Line) override { tell("store", core, address_); }
  void restored(CoreId core, std::uint64_t address, std::uint32_t) override {
    tell("restored", core, address);
  }

 private:
  void tell(const std::string& what, CoreId core, std::uint64_t address) {
    const LineData line = context_->pm_space.newest().read(Line::of(address));
    plan->notices.push_back(what + " " + std::to_string(core) + " " + (address < kB ? "A" : "B") +
                            "=" + std::to_string(std::to_integer<int>(line[address % kLineBytes])));
  }
  void step(std::uint64_t number, Time) {
    const Plan::Step& step = plan->steps[number];
    switch (step.what) {
      case Plan::kPause:
        return context_->threads.pause(step.core);
      case Plan::kResume:
        return context_->threads.resume(step.core);
      case Plan::kRewind:
        if (!context_->threads.in_region(step.core)) {
          plan->notices.push_back("not in a region");
        } else {
          context_->threads.rewind(step.core);
        }
        return;
    }
  }

  std::optional<LayerContext> context_;
  std::uint64_t address_ = 0;
};

// Records hints and their outcomes.
class Hinted final : public Precompute {
 public:
  void connect(const LayerContext& context) override { pm_ = &context.pm; }
  ResultBufferSize result_buffer() const override { return {.entries = 8}; }
  std::uint32_t interests() const override { return kHints; }
  void hint(CoreId core, const Hint& hint, Time) override {
    plan->notices.push_back("hint " + std::to_string(hint.bytes));
    pm_->predictions().prepare(
        {.core = core, .number = hint.bytes, .line = Line::of(hint.address)});
  }
  void outcome(const Outcome& outcome) override {
    plan->notices.push_back("discarded " + std::to_string(outcome.number));
  }

 private:
  Backend* pm_ = nullptr;
};

// An atomicity that takes no interest in regions.
class Uninterested final : public Atomicity {
 public:
  Lowering lowering() const override {
    return Lowering::without({trace::Purpose::kLog, trace::Purpose::kCommit});
  }
  bool region_begin(CoreId, std::uint64_t, Time, Completion) override {
    plan->notices.push_back("region begins");
    return true;
  }
};

const ChoiceTable& with_plan() {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = choices();
    table.push_back({.name = "planned",
                     .summary = "Does what a test has planned",
                     .needs = {kRegionsAgain},
                     .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
                       return std::make_unique<Planned>();
                     }});
    table.push_back({.name = "uninterested",
                     .summary = "Has nothing to do with regions",
                     .gives = {kRegionsAgain},
                     .make = [](const Blueprint&) -> std::unique_ptr<Atomicity> {
                       return std::make_unique<Uninterested>();
                     }});
    table.push_back({.name = "plain", .summary = "Nothing", .make = [](const Blueprint&) {
                       return std::make_unique<BackendOperation>();
                     }});
    table.push_back({.name = "hinted",
                     .summary = "Notes hints",
                     .make = [](const Blueprint&) -> std::unique_ptr<Precompute> {
                       return std::make_unique<Hinted>();
                     }});
    return table;
  }();
  return kTable;
}

class Program {
 public:
  Program() { builder.pm_region(kPmBase, kPmBase + 4096); }
  Program& thread(std::uint32_t number) {
    builder.thread(number);
    return *this;
  }
  void begin() { builder.mark(MarkKind::kRegionBegin, 1); }
  void end() { builder.mark(MarkKind::kRegionEnd, 1); }
  void store(std::uint64_t address, std::uint64_t value) { builder.store(store_, address, value); }
  // About so long: four instructions a cycle of 0.5 ns.
  void compute(std::uint32_t nanoseconds) {
    for (std::uint32_t i = 0; i < nanoseconds; ++i) builder.external(8);
  }
  void hint(std::uint64_t bytes) { builder.mark(MarkKind::kHint, kA, bytes); }
  void mfence() { builder.plain(mfence_); }
  void lock(std::uint32_t object, std::uint32_t version) {
    if (own_locks) {
      builder.atomic(take_, kLock + 64 * object, object, 2 * version + 1, 1, true);
    } else {
      builder.sync(SyncKind::kMutexLock, kLock + 64 * object, object, version);
    }
  }
  void unlock(std::uint32_t object, std::uint32_t version) {
    if (own_locks) {
      builder.atomic(give_back_, kLock + 64 * object, object, 2 * version, 0);
    } else {
      builder.sync(SyncKind::kMutexUnlock, kLock + 64 * object, object, version);
    }
  }

  TraceBuilder builder;
  bool own_locks = false;  // True: locks are atomic variables, not mutexes.

 private:
  std::uint32_t store_ = builder.site(SiteKind::kStore, 8, 1);
  std::uint32_t mfence_ = builder.site(SiteKind::kFence, 0, 1, {}, {},
                                       static_cast<std::uint8_t>(trace::FenceKind::kMfence));
  std::uint32_t take_ = builder.site(SiteKind::kAtomicUpdate, 8, 1, {}, {},
                                     static_cast<std::uint8_t>(trace::LockRole::kTakes));
  std::uint32_t give_back_ = builder.site(SiteKind::kAtomicStore, 8, 1, {}, {},
                                          static_cast<std::uint8_t>(trace::LockRole::kGivesBack));
};

struct Ran {
  std::vector<std::string> notices;
  double ns = 0;              // until the last core ended
  double speculation_ns = 0;  // sum over all cores
  std::uint64_t regions = 0;
};

Ran run(Program& program, const std::vector<Plan::Step>& steps,
        std::string_view lock_order = "recorded", std::string_view run_ahead = "1ns",
        const std::vector<KeyValue>& more = {}) {
  Plan planned{steps, {}};
  plan = &planned;
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(settings({{"ordering", "planned"},
                                      {"atomicity", "none"},
                                      {"precompute", "hinted"},
                                      {"core.frequency", "2GHz"},
                                      {"core.width", "4"},
                                      {"core.run_ahead", run_ahead},
                                      {"run.lock_order", lock_order}},
                                     more),
                            with_plan()),
                  file);
  EXPECT_TRUE(machine.run({}));
  plan = nullptr;
  Ran ran{planned.notices, static_cast<double>(machine.end().count) / 1000, 0, 0};
  for (const auto& core : machine.cores()) {
    EXPECT_EQ(core->clock().time(core->account().total()), core->end());
    ran.speculation_ns +=
        static_cast<double>(core->clock().time(core->account()[Cause::kSpeculation]).count) / 1000;
    ran.regions += core->statistics().regions;
  }
  return ran;
}

TEST(Pause, DelaysTheCoreByItsLength) {
  Program program;
  program.compute(2000);
  const Ran without = run(program, {});
  const Ran with = run(program, {{500, Plan::kPause}, {600, Plan::kResume}});
  EXPECT_DOUBLE_EQ(with.ns, without.ns + 100);
  EXPECT_DOUBLE_EQ(with.speculation_ns, 100);
}

TEST(Pause, LetsTheStoreQueueContinue) {
  Program program;
  program.store(kA, 1);  // misses, and waits for PM
  program.compute(2000);
  program.store(kB, 2);
  const Ran with = run(program, {{20, Plan::kPause}, {3000, Plan::kResume}, {3001, Plan::kRewind}});
  EXPECT_EQ(with.notices,
            (std::vector<std::string>{"store 0 A=1", "not in a region", "store 0 B=2"}));
  EXPECT_GT(with.ns, 4000);
}

TEST(Rewind, RegionIsExecutedAgain) {
  Program program;
  program.store(kB, 7);
  program.compute(1000);
  program.begin();
  program.store(kA, 1);
  program.store(kB, 8);
  program.compute(1000);
  program.store(kA, 2);
  program.end();
  program.compute(500);
  const Ran without = run(program, {});
  const Ran with = run(program, {{1800, Plan::kRewind}});
  EXPECT_EQ(without.notices,
            (std::vector<std::string>{"store 0 B=7", "store 0 A=1", "store 0 B=8", "store 0 A=2"}));
  EXPECT_EQ(with.notices, (std::vector<std::string>{"store 0 B=7", "store 0 A=1", "store 0 B=8",
                                                    "restored 0 B=7", "restored 0 A=0",
                                                    "store 0 A=1", "store 0 B=8", "store 0 A=2"}));
  // The region began at 1000 ns, or when its first lines arrived; they are cached when it is
  // executed again.
  EXPECT_GT(with.ns, without.ns + 400);
  EXPECT_LT(with.ns, without.ns + 800 + kGrain);
  EXPECT_EQ(with.regions, 1u);
}

// The first execution leaves no effect: neither dispatched instructions nor waiting time.
TEST(Rewind, TakesTheTimeOfTheRegionAgain) {
  Program program;
  program.begin();
  program.compute(1000);
  program.end();
  const Ran without = run(program, {});
  const Ran with = run(program, {{500, Plan::kRewind}});
  EXPECT_NEAR(with.ns, without.ns + 500, kGrain);
  EXPECT_NEAR(with.speculation_ns, 0, kGrain);
  const Ran paused =
      run(program, {{300, Plan::kPause}, {500, Plan::kRewind}, {600, Plan::kResume}});
  EXPECT_NEAR(paused.ns, without.ns + 600, kGrain);
  EXPECT_NEAR(paused.speculation_ns, 300, kGrain);
}

// A core that has worked ahead, beyond the end of its pause.
TEST(Rewind, NeverMovesACoreBackInTime) {
  Program program;
  program.begin();
  program.compute(1000);
  program.end();
  const Ran without = run(program, {});
  const Ran with = run(program, {{300, Plan::kPause}, {310, Plan::kRewind}, {311, Plan::kResume}},
                       "recorded", "200ns");
  EXPECT_GE(with.speculation_ns, 0);
  EXPECT_GT(with.ns, without.ns + 310);
  EXPECT_LT(with.ns, without.ns + 310 + 200 + kGrain);
}

TEST(Rewind, HintsOfTheRegionAreGivenAgain) {
  Program program;
  program.begin();
  program.store(kA, 1);
  program.mfence();  // some hundred ns, in which the hints can't retire
  program.hint(1);
  program.hint(2);
  program.end();
  program.compute(500);
  program.hint(3);
  const Ran ran = run(program, {{50, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"restored 0 A=0", "store 0 A=1", "fence 1",
                                                   "hint 1", "hint 2", "hint 3"}));
}

// Rule 7. (The flushes are what hardware logs need of the ordering layer.)
TEST(Rewind, IsRejectedWithHardwareLogs) {
  ChoiceTable table = with_plan();
  Choice& planned = *std::ranges::find(table, std::string_view("planned"), &Choice::name);
  planned.gives = {"flushes that write back"};
  for (const Choice& choice : table) {
    if (choice.layer() != Layer::kAtomicity || choice.name.starts_with("software-")) continue;
    const Configuration configuration =
        unchecked(settings({{"ordering", "planned"}, {"atomicity", choice.name}}), table);
    std::vector<std::string> expected;
    if (choice.name != "none" && choice.name != "uninterested") {
      expected.push_back(
          "ordering=planned needs regions that can be re-executed, which no other layer gives; "
          "choose atomicity=none or atomicity=software-undo or atomicity=software-redo or "
          "atomicity=uninterested");
    }
    EXPECT_EQ(combination_problems(configuration.blueprint()), expected) << choice.name;
  }
}

TEST(Rewind, IsRejectedForALayerThatDoesNotDeclareTheNeed) {
  ChoiceTable table = with_plan();
  std::ranges::find(table, std::string_view("planned"), &Choice::name)->needs.clear();
  Program program;
  program.compute(1);
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  Plan nothing;
  plan = &nothing;
  try {
    Machine(configure(settings({{"ordering", "planned"}, {"atomicity", "none"}}), table), file);
    ADD_FAILURE() << "it isn't refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), std::string("a layer re-executes regions, but no layer's "
                                        "implementation needs regions that can be re-executed"));
  }
  plan = nullptr;
}

TEST(Rewind, DiscardsPredictionsOfTheRegion) {
  Program program;
  program.begin();
  program.hint(1);
  program.compute(1000);
  program.end();
  const Ran ran = run(program, {{500, Plan::kRewind}}, "recorded", "1ns", {{"backend", "plain"}});
  EXPECT_EQ(ran.notices,
            (std::vector<std::string>{"hint 1", "discarded 1", "hint 1", "discarded 1"}));
}

// The ordering layer asks for regions, in a way.
TEST(Rewind, NotifiesOnlyLayersInterestedInRegions) {
  Program program;
  program.begin();
  program.compute(1000);
  program.end();
  EXPECT_TRUE(
      run(program, {{500, Plan::kRewind}}, "recorded", "1ns", {{"atomicity", "uninterested"}})
          .notices.empty());
}

TEST(Rewind, IsPossibleOnlyInsideARegion) {
  Program program;
  program.compute(500);
  program.begin();
  program.compute(1000);
  program.end();
  program.compute(500);
  const Ran ran =
      run(program, {{100, Plan::kRewind}, {1900, Plan::kRewind}, {1000, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"not in a region"}))
      << "at 1900 it is in there again";
}

TEST(Rewind, FencesKeepTheirProgramNumbers) {
  Program program;
  program.mfence();
  program.begin();
  program.mfence();
  program.compute(1000);
  program.end();
  program.mfence();
  const Ran ran = run(program, {{600, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"fence 1", "fence 2", "fence 2", "fence 3"}));
}

// Two regions fly in the window at once; the second one's begin has been dispatched.
TEST(Rewind, RollsBackTheOldestRegionInFlight) {
  Program program;
  program.begin();
  program.store(kA, 1);  // a miss, of some hundred ns
  program.end();
  program.begin();
  program.store(kB, 2);
  program.end();
  const Ran ran = run(program, {{60, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"restored 0 A=0", "store 0 A=1", "store 0 B=2"}))
      << "of the store that had been announced only";
  EXPECT_EQ(ran.regions, 2u);
}

// Locks in the recorded order, or in the simulated order of mutexes or of the program's own locks.
class Locks : public testing::TestWithParam<std::string_view> {
 protected:
  Locks() { program.own_locks = GetParam() == "own"; }
  Ran run_locks(const std::vector<Plan::Step>& steps) {
    return run(program, steps, GetParam() == "recorded" ? "recorded" : "simulated");
  }

  Program program;
};
INSTANTIATE_TEST_SUITE_P(Rewind, Locks, testing::Values("recorded", "simulated", "own"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Locks, HeldLockStaysHeldAfterARollback) {
  program.thread(0).begin();
  program.lock(0, 0);
  program.store(kA, 1);
  program.compute(2000);
  program.end();
  program.unlock(0, 1);
  program.thread(1).compute(1000);
  program.lock(0, 1);
  program.store(kA, 2);
  program.unlock(0, 2);
  const Ran ran = run_locks({{1500, Plan::kRewind}, {2500, Plan::kRewind}});
  EXPECT_EQ(ran.notices,
            (std::vector<std::string>{"store 0 A=1", "restored 0 A=0", "store 0 A=1",
                                      "restored 0 A=0", "store 0 A=1", "store 1 A=2"}));
}

TEST_P(Locks, ReleasedLockIsNotTakenAgainAfterARollback) {
  program.thread(0).begin();
  program.lock(0, 0);
  program.store(kA, 1);
  program.unlock(0, 1);
  program.compute(2000);
  program.end();
  program.thread(1).compute(500);
  program.lock(0, 1);
  program.store(kA, 2);
  program.compute(3000);
  program.unlock(0, 2);
  const Ran ran = run_locks({{1500, Plan::kRewind}});
  // Thread 1 has the lock meanwhile, and its store came after thread 0's.
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"store 0 A=1", "store 1 A=2", "restored 0 A=2",
                                                   "store 0 A=2"}));
  EXPECT_LT(ran.ns, 3000 + 1000) << "thread 0 doesn't wait for it";
}

// The lock is acquired at once; its line arrives later.
TEST_P(Locks, LockIsHeldBeforeItsLineArrives) {
  program.thread(0).begin();
  program.lock(0, 0);
  program.store(kA, 1);
  program.unlock(0, 1);
  program.end();
  const Ran ran = run_locks({{20, Plan::kRewind}, {25, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"store 0 A=1"}));
}

TEST_P(Locks, LockIsReleasedOnceDespiteARollback) {
  program.thread(0).begin();
  program.lock(0, 0);
  program.unlock(0, 1);
  program.compute(1000);
  program.end();
  program.thread(1).compute(200);
  program.lock(0, 1);
  program.compute(2000);
  program.store(kB, 1);
  program.unlock(0, 2);
  program.thread(2).compute(600);
  program.lock(0, 2);
  program.store(kB, 2);
  program.unlock(0, 3);
  const Ran ran = run_locks({{900, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"store 1 B=1", "store 2 B=2"}));
}

// Under simulated lock order, atomic variables keep their recorded order outside locks alone.
TEST_P(Locks, LockIsCountedOnceDespiteARollback) {
  const std::uint32_t write = program.builder.site(SiteKind::kAtomicStore, 8);
  program.thread(0).begin();
  program.lock(0, 0);
  program.compute(1000);
  program.end();
  program.unlock(0, 1);
  program.builder.atomic(write, kA, 1, 2, 5);
  program.thread(1).compute(4000);
  program.builder.atomic(write, kA, 1, 1, 4);
  const Ran ran = run_locks({{500, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"store 1 A=4", "store 0 A=5"}));
}

TEST_P(Locks, LockWaitIsRepeatedAfterARollback) {
  program.thread(0).lock(0, 0);
  program.compute(2000);
  program.store(kA, 1);
  program.unlock(0, 1);
  program.thread(1).compute(100);
  program.begin();
  program.store(kB, 1);
  program.lock(0, 1);
  program.store(kA, 2);
  program.unlock(0, 2);
  program.end();
  const Ran ran = run_locks({{1000, Plan::kRewind, 1}, {1500, Plan::kRewind, 1}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"store 1 B=1", "restored 1 B=0", "store 1 B=1",
                                                   "restored 1 B=0", "store 1 B=1", "store 0 A=1",
                                                   "store 1 A=2"}));
}

TEST(Rewind, AtomicVersionsStayReleased) {
  Program program;
  const std::uint32_t write = program.builder.site(SiteKind::kAtomicStore, 8);
  const std::uint32_t read = program.builder.site(SiteKind::kAtomicLoad, 8);
  program.thread(0).begin();
  program.builder.atomic(write, kA, 0, 1, 5);
  program.compute(1000);
  program.builder.atomic(read, kB, 1, 1);  // waits for thread 1
  program.end();
  program.thread(1).builder.atomic(read, kA, 0, 1);
  program.compute(1500);
  program.builder.atomic(write, kB, 1, 1, 6);
  const Ran ran = run(program, {{900, Plan::kRewind}, {2100, Plan::kRewind}});
  EXPECT_EQ(std::count(ran.notices.begin(), ran.notices.end(), "store 1 B=6"), 1);
  EXPECT_EQ(ran.notices.front(), "store 0 A=5");
  EXPECT_EQ(ran.regions, 1u);
}

// Thread 1 waits for a store that rolls back while its line is in flight.
TEST(Rewind, RacingStoreIsWaitedForUntilItIsReexecuted) {
  Program program;
  const std::uint32_t load = program.builder.site(SiteKind::kLoad, 8);
  program.thread(0).begin();
  program.compute(1000);
  program.store(kA, 5);
  program.compute(100);
  program.end();
  program.builder.end_turn(0);
  program.thread(1).builder.access(load, kA);
  program.store(kB, 6);
  program.builder.end_turn(1);
  const Ran ran = run(program, {{1020, Plan::kRewind}});
  EXPECT_EQ(ran.notices,
            (std::vector<std::string>{"restored 0 A=0", "store 0 A=5", "store 1 B=6"}));
  EXPECT_GT(ran.ns, 2000);
}

// Thread 0 waits at the race when it rolls back; thread 1 executes its store later.
TEST(Rewind, RaceWaitIsRepeated) {
  Program program;
  const std::uint32_t load = program.builder.site(SiteKind::kLoad, 8);
  program.thread(1).compute(2000);
  program.store(kB, 6);
  program.builder.end_turn(0);
  program.thread(0).begin();
  program.store(kA, 4);
  program.compute(500);
  program.builder.access(load, kB);
  program.store(kA, 5);
  program.end();
  program.builder.end_turn(1);
  const Ran ran = run(program, {{900, Plan::kRewind}});
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"store 0 A=4", "restored 0 A=0", "store 0 A=4",
                                                   "store 1 B=6", "store 0 A=5"}));
}

// Rolled-back atomic loads still wait for their version or their time, and so do the operations
// that depend on them.
TEST(Rewind, RolledBackLoadsNeverComplete) {
  Program program;
  const std::uint32_t write = program.builder.site(SiteKind::kAtomicStore, 8);
  const std::uint32_t first = program.builder.site(SiteKind::kLoad, 8);
  const std::uint32_t read = program.builder.site(SiteKind::kAtomicLoad, 8, 1, {(first << 8) | 10});
  const std::uint32_t use = program.builder.site(SiteKind::kLoad, 8, 1, {(read << 8) | 3});
  program.thread(0).begin();
  program.builder.access(first, kDramBase);
  program.builder.atomic(read, kB, 1, 1);
  for (int i = 0; i < 60; ++i) program.builder.access(use, kDramBase + 4096);
  program.end();
  program.thread(1).compute(3000);
  program.builder.atomic(write, kB, 1, 1, 6);
  std::vector<Plan::Step> steps;
  // Some of these rollbacks take place when the load is due, but stalls for its turn.
  for (std::int64_t when = 200; when < 2900; when += when % 3 == 0 ? 5 : 31) {
    steps.push_back({when, Plan::kRewind});
  }
  const Ran ran = run(program, steps);
  EXPECT_EQ(ran.notices, (std::vector<std::string>{"store 1 B=6"}));
  EXPECT_EQ(ran.regions, 1u);
}

TEST(Rewind, PurposeAndFenceMeaningAreRestored) {
  TraceBuilder builder;
  const auto mark = [&](MarkKind kind, auto first) {
    builder.mark(kind, static_cast<std::uint64_t>(first));
  };
  const std::uint32_t sfence = builder.site(SiteKind::kFence);
  const std::uint32_t store = builder.site(SiteKind::kStore, 8, 1);
  mark(MarkKind::kPurpose, trace::Purpose::kCommit);
  mark(MarkKind::kNextFence, trace::FenceMeaning::kDurable);
  mark(MarkKind::kRegionBegin, 1);
  builder.plain(sfence);
  mark(MarkKind::kPurpose, trace::Purpose::kProgram);
  builder.store(store, kA, 1);
  builder.plain(sfence);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  LoweredStream stream(file, 0, {}, {});
  trace::Operation operation;
  ASSERT_TRUE(stream.next(operation));
  ASSERT_EQ(operation.kind, SiteKind::kMark);
  const LoweredStream::SavedPosition place = stream.before_region();
  for (int time = 0; time < 2; ++time, stream.go_to(place), stream.next(operation)) {
    EXPECT_EQ(stream.purpose(), trace::Purpose::kCommit);
    ASSERT_TRUE(stream.next(operation));
    EXPECT_EQ(operation.kind, SiteKind::kFence);
    EXPECT_EQ(stream.fence_meaning(), trace::FenceMeaning::kDurable);
    ASSERT_TRUE(stream.next(operation));
    EXPECT_EQ(operation.kind, SiteKind::kStore);
    EXPECT_EQ(stream.purpose(), trace::Purpose::kProgram);
    ASSERT_TRUE(stream.next(operation));
    EXPECT_EQ(stream.fence_meaning(), trace::FenceMeaning::kBare);
    EXPECT_FALSE(stream.next(operation));
  }
}

// ---- Stores that may be rolled back

class SpeculativeStoresTest : public testing::Test {
 protected:
  void store(CoreId core, std::uint64_t address, int value, std::size_t bytes = 1) {
    stores.store(core, address, std::vector<std::byte>(bytes, std::byte(value)));
  }
  int at(std::uint64_t address) const {
    return std::to_integer<int>(newest.read(Line::of(address))[address % kLineBytes]);
  }
  std::vector<std::uint64_t> take_back(CoreId core) {
    std::vector<std::uint64_t> notices;
    stores.roll_back(core,
                     [&](std::uint64_t address, std::uint32_t) { notices.push_back(address); });
    return notices;
  }

  Image newest;
  SpeculativeStores stores{newest};
};

TEST_F(SpeculativeStoresTest, StoresAreUndoneInReverseOrder) {
  store(0, kA, 1);
  stores.begin(0);
  store(0, kA, 2);
  store(0, kA + 1, 3);
  store(0, kB, 4);
  EXPECT_EQ(take_back(0), (std::vector<std::uint64_t>{kB, kA + 1, kA}));
  EXPECT_EQ(at(kA), 1);
  EXPECT_EQ(at(kA + 1), 0);
  EXPECT_EQ(take_back(0), std::vector<std::uint64_t>{});
  store(0, kA, 2);
  EXPECT_EQ(take_back(0), std::vector<std::uint64_t>{kA}) << "of two, one is there again";
  EXPECT_EQ(at(kA), 1);
}

TEST_F(SpeculativeStoresTest, LaterStoresOfOtherThreadsStay) {
  stores.begin(0);
  store(0, kA, 1);
  store(1, kA, 2);      // not in a region
  store(1, kA + 8, 3);  // same line as the store before
  stores.begin(2);
  store(2, kA, 4);
  EXPECT_EQ(take_back(0), std::vector<std::uint64_t>{kA});
  EXPECT_EQ(at(kA), 4);
  take_back(2);
  EXPECT_EQ(at(kA), 2);
  store(0, kA, 1);
  EXPECT_EQ(at(kA), 2) << "thread 1 stored to it after thread 0";
  store(2, kA, 4);
  stores.end(2);
  take_back(0);
  EXPECT_EQ(at(kA), 4);
  EXPECT_EQ(at(kA + 8), 3);
}

TEST_F(SpeculativeStoresTest, NoStoresAreKeptOnceAllRegionsHaveEnded) {
  stores.begin(0);
  stores.begin(1);
  store(0, kA, 1);
  store(1, kA, 2);
  stores.end(1);
  EXPECT_EQ(stores.lines(), 1u);
  take_back(0);
  store(0, kA, 1);
  stores.end(0);
  EXPECT_EQ(stores.lines(), 0u);
  EXPECT_EQ(at(kA), 2);
  store(1, kA, 5);
  EXPECT_EQ(stores.lines(), 0u);
  EXPECT_EQ(at(kA), 5);
}

TEST_F(SpeculativeStoresTest, StoreAcrossTwoLinesIsUndone) {
  stores.begin(0);
  store(0, kB - 4, 9, 8);
  EXPECT_EQ(at(kB + 3), 9);
  EXPECT_EQ(take_back(0), (std::vector<std::uint64_t>{kB, kB - 4}));
  EXPECT_EQ(at(kB - 4) + at(kB + 3), 0);
}

}  // namespace
}  // namespace pmemsim
