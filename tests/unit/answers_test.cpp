// A program's operations, and the images for which its reader gives wrong answers.
#include "pmemsim/checks/answers/answer_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "litmus_program.hpp"
#include "long_tests.hpp"
#include "pmemsim/analysis/functions.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::answers {
namespace {

using trace::SiteKind;

// ---- Functions and their calls -----------------------------------------------------------------

// main calls push, which calls flush; list() is inlined into main.
class CallsTest : public testing::Test {
 protected:
  std::uint32_t site(SiteKind kind, const char* function, std::uint8_t flags = 0) {
    const std::uint8_t size = kind == SiteKind::kStore ? 8 : 0;
    return trace_.site(kind, size, 1, {}, {}, 0, flags, {"test.c", function, 1});
  }
  void put(std::initializer_list<std::uint32_t> sites) {
    for (const std::uint32_t number : sites) {
      if (number == push_) {
        trace_.store(number, kPmBase, 1);
      } else {
        trace_.plain(number);
      }
    }
  }
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  Ranges calls(std::string_view chosen) {
    const TemporaryTrace file(trace_);
    const trace::TraceFile read(file.path());
    Ranges ranges;
    for (const CallOrRegion& each :
         calls_of(read, [&](std::string_view name) { return name == chosen; })) {
      EXPECT_EQ(each.name, chosen);
      ranges.emplace_back(each.first, each.last);
    }
    return ranges;
  }

  trace::TraceBuilder trace_;
  const std::uint32_t main_ = site(SiteKind::kExecute, "main", trace::kSiteNewFunction);
  const std::uint32_t list_ = site(SiteKind::kExecute, "list", trace::kSiteInlined);
  const std::uint32_t flush_in_main_ = site(SiteKind::kExecute, "flush", trace::kSiteInlined);
  const std::uint32_t push_ = site(SiteKind::kStore, "push", trace::kSiteNewFunction);
  const std::uint32_t push_end_ = site(SiteKind::kExecute, "push");
  const std::uint32_t flush_ = site(SiteKind::kExecute, "flush", trace::kSiteNewFunction);

  void SetUp() override { trace_.pm_region(kPmBase, kPmBase + 4096); }
};

TEST_F(CallsTest, CallEndsBeforeTheNextOperationOfItsCaller) {
  put({main_, push_, push_end_, flush_, push_end_, main_, push_, flush_, main_, main_});
  EXPECT_EQ(calls("push"), (Ranges{{1, 4}, {6, 7}}));
  EXPECT_EQ(calls("flush"), (Ranges{{3, 3}, {7, 7}}));
}

TEST_F(CallsTest, RecursiveCallsBelongToTheOutermostCall) {
  put({main_, push_, push_, flush_, push_, push_end_, main_});
  EXPECT_EQ(calls("push"), (Ranges{{1, 5}}));
}

// push calls flush, and both are chosen.
TEST_F(CallsTest, ChosenCallInsideAChosenCallBelongsToTheOuterCall) {
  put({main_, push_, flush_, push_end_, main_});
  const TemporaryTrace file(trace_);
  const trace::TraceFile read(file.path());
  const std::vector<CallOrRegion> found =
      calls_of(read, [](std::string_view name) { return name == "push" || name == "flush"; });
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].name, "push");
  EXPECT_EQ(found[0].first, 1);
  EXPECT_EQ(found[0].last, 3);
}

// The last flush is inlined into the caller, although the function of that name was called
// immediately before.
TEST_F(CallsTest, CallEndsBeforeInlinedCodeOfItsCaller) {
  put({main_, push_, flush_, flush_in_main_, list_, push_, main_});
  EXPECT_EQ(calls("push"), (Ranges{{1, 2}, {5, 5}}));
  EXPECT_EQ(calls("list"), Ranges{});
}

TEST_F(CallsTest, UsesCountCallsInlinedCodeAndStores) {
  put({main_, push_, flush_, main_, list_, push_, main_});
  const TemporaryTrace file(trace_);
  const trace::TraceFile read(file.path());
  std::map<std::string, std::vector<std::uint64_t>> found;
  for (const Uses& uses : uses_of_functions(read)) {
    found[uses.name] = {uses.calls, uses.inlined, uses.stores, uses.depth};
  }
  const std::map<std::string, std::vector<std::uint64_t>> expected{{"main", {1, 0, 2, 1}},
                                                                   {"push", {2, 0, 2, 2}},
                                                                   {"flush", {1, 0, 0, 3}},
                                                                   {"list", {0, 1, 0, 0}}};
  EXPECT_EQ(found, expected);
}

TEST(Functions, SitesWithoutCallMarksAreGroupedByFunctionName) {
  trace::TraceBuilder trace;
  const auto site = [&](const char* function) {
    return trace.site(SiteKind::kExecute, 0, 1, {}, {}, 0, 0, {"test.c", function, 1});
  };
  const std::uint32_t first = site("f"), other = site("g"), again = site("f");
  trace.plain(first);
  const TemporaryTrace file(trace);
  const trace::TraceFile read(file.path());
  const trace::Functions functions(read.sites());
  EXPECT_EQ(functions.of(first), functions.of(again));
  EXPECT_NE(functions.of(first), functions.of(other));
  EXPECT_EQ(functions.name(functions.of(other)), "g");
  EXPECT_EQ(functions.of(0), trace::Functions::kNone);
}

TEST(Regions, OnlyOutermostRegionsAreOperations) {
  trace::TraceBuilder trace;
  using trace::MarkKind;
  for (const auto& [kind, depth] :
       std::initializer_list<std::pair<MarkKind, std::uint64_t>>{{MarkKind::kRegionBegin, 1},
                                                                 {MarkKind::kRegionBegin, 2},
                                                                 {MarkKind::kRegionEnd, 2},
                                                                 {MarkKind::kRegionEnd, 1},
                                                                 {MarkKind::kRegionBegin, 1}}) {
    trace.mark(kind, depth);
  }
  const TemporaryTrace file(trace);
  const trace::TraceFile read(file.path());
  const std::vector<CallOrRegion> found = regions_of(read);
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].first, 0);
  EXPECT_EQ(found[0].last, 3);
  EXPECT_EQ(found[1].first, 4);
  EXPECT_EQ(found[1].last, UINT64_MAX);  // the recording ends first
}

// ---- History and points in time -----------------------------------------------------------------

using litmus::Do;

const litmus::Program kTwoLines{
    {0, Do::kStore, 0, 5}, {0, Do::kStore, 64, 6}, {0, Do::kClwb, 0}, {0, Do::kSfence},
    {0, Do::kStore, 0, 7}, {0, Do::kClwb, 64},     {0, Do::kSfence},
};

TEST(History, SegmentsHaveTheirVisibleAndGuaranteedSteps) {
  litmus::Recorder recorder(kTwoLines, 1);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  const History history(read, PersistencyRules::kPx86);
  EXPECT_EQ(history.steps(), 7);
  ASSERT_EQ(history.segments(), 3);
  EXPECT_EQ(history.segment(1).step, 1);
  EXPECT_EQ(history.segment(1).guaranteed, 4);
  EXPECT_EQ(history.segment(2).guaranteed, 7);
  EXPECT_EQ(history.segment(3).before, 5);
  EXPECT_EQ(history.segment(3).guaranteed, History::kNever);
  EXPECT_EQ(history.order_at(0), 0);
  EXPECT_EQ(history.order_at(4), 2);
  EXPECT_EQ(history.order_at(5), 3);
  EXPECT_EQ(history.next_guaranteed(0), 4);
  EXPECT_EQ(history.next_guaranteed(1), 7);
  EXPECT_EQ(history.next_guaranteed(2), History::kNever);
  LosslessImage whole(history);
  const auto first = [&](std::uint64_t order) {
    std::uint64_t word = 0;
    std::memcpy(&word, whole.go_to(order).read(Line::of(kPmBase)).data(), sizeof(word));
    return word;
  };
  EXPECT_EQ(first(3), 7);
  EXPECT_EQ(first(2), 5);
  EXPECT_EQ(first(0), 0);
  EXPECT_EQ(first(1), 5);
}

// The second line is durable after step 4, the first one only after step 6.
TEST(History, NextGuaranteedStepMayBelongToALaterSegment) {
  const litmus::Program program{{0, Do::kStore, 0, 5}, {0, Do::kStore, 64, 6}, {0, Do::kClwb, 64},
                                {0, Do::kSfence},      {0, Do::kClwb, 0},      {0, Do::kSfence}};
  litmus::Recorder recorder(program, 1);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  const History history(read, PersistencyRules::kPx86);
  EXPECT_EQ(history.segment(1).guaranteed, 6);
  EXPECT_EQ(history.segment(2).guaranteed, 4);
  EXPECT_EQ(history.next_guaranteed(0), 4);
  EXPECT_EQ(history.next_guaranteed(1), 4);
}

// On eADR only the ordinary store is durable at its own step.
TEST(History, NonTemporalStoreIsGuaranteedByItsFenceOnEadr) {
  const litmus::Program program{{0, Do::kNonTemporal, 0, 5},
                                {0, Do::kStore, 64, 6},
                                {0, Do::kSfence},
                                {0, Do::kStore, 128, 7}};
  litmus::Recorder recorder(program, 1);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  const History history(read, PersistencyRules::kEadr);
  EXPECT_EQ(history.segment(1).guaranteed, 3);
  EXPECT_EQ(history.segment(2).guaranteed, 2);
}

TEST(LosslessImage, AddedSegmentsAreRemovedAtTheNextCall) {
  litmus::Recorder recorder(kTwoLines, 1);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  const History history(read, PersistencyRules::kPx86);
  LosslessImage whole(history);
  whole.go_to(1);
  whole.changed();
  EXPECT_EQ(std::to_integer<int>(whole.with({2, 3}).read(Line::of(kPmBase + 64))[0]), 6);
  EXPECT_EQ(whole.changed(), (std::vector{Line::of(kPmBase), Line::of(kPmBase + 64)}));
  EXPECT_EQ(whole.go_to(1).read(Line::of(kPmBase + 64)), LineData{});
  EXPECT_EQ(std::to_integer<int>(whole.go_to(1).read(Line::of(kPmBase))[0]), 5);
  EXPECT_EQ(whole.changed(), (std::vector{Line::of(kPmBase), Line::of(kPmBase + 64)}));
}

// The thread's operation number is the step's.
CallOrRegion steps(std::uint64_t first, std::uint64_t last, std::uint32_t thread = 0) {
  return {.thread = thread, .name = "f", .first = first, .last = last};
}

TEST(Intervals, IntervalsBeginAndEndAtStepsOfOperations) {
  litmus::Recorder recorder(kTwoLines, 1);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  const Intervals found(read, {steps(2, 4), steps(5, 5), steps(6, 6), steps(7, 9)}, 7);
  ASSERT_EQ(found.operations().size(), 4);
  EXPECT_EQ(found.operations()[0].first_step, 2);
  EXPECT_EQ(found.operations()[0].last_step, 4);
  EXPECT_EQ(found.operations()[3].number, 4);
  EXPECT_EQ(found.operations()[3].last_step, 7);
  struct Expected {
    std::uint64_t first, last;
    std::size_t executing, ended;
    bool set_up;
  };
  const std::vector<Expected> expected{{0, 1, 0, 0, true},  {2, 3, 1, 0, false},
                                       {4, 4, 0, 1, false}, {5, 5, 0, 2, false},
                                       {6, 6, 0, 3, false}, {7, 7, 0, 4, false}};
  ASSERT_EQ(found.list().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Interval& interval = found.list()[i];
    EXPECT_EQ(interval.first, expected[i].first) << i;
    EXPECT_EQ(interval.last, expected[i].last) << i;
    EXPECT_EQ(interval.executing.size(), expected[i].executing) << i;
    EXPECT_EQ(interval.ended, expected[i].ended) << i;
    EXPECT_EQ(interval.set_up, expected[i].set_up) << i;
  }
  EXPECT_EQ(found.at(1), 0);
  EXPECT_EQ(found.at(3), 1);
}

// Two threads take a lock: thread 0 holds it while thread 1 begins its operation with a store to
// `first`, and waits.
struct WaitingOperation {
  explicit WaitingOperation(bool stores, std::uint64_t first = kVolatile + 128) {
    trace.pm_region(kPmBase, kPmBase + (1 << 20));
    const std::uint32_t store = trace.site(trace::SiteKind::kStore, 8);
    trace.thread(0);
    trace.sync(trace::SyncKind::kMutexLock, kVolatile, 0, 0);
    trace.store(store, kPmBase, 1);
    trace.sync(trace::SyncKind::kThreadCreate, kVolatile + 64, 1, 1);
    trace.store(store, kPmBase + 8, 2);
    trace.sync(trace::SyncKind::kMutexUnlock, kVolatile, 0, 1);
    trace.thread(1);
    trace.sync(trace::SyncKind::kThreadStart, kVolatile + 64, 1, 1);
    trace.store(store, first, 3);  // Operation 1 of the thread: its first step
    trace.sync(trace::SyncKind::kMutexLock, kVolatile, 0, 1);
    if (stores) trace.store(store, kPmBase + 64, 4);
    trace.sync(trace::SyncKind::kMutexUnlock, kVolatile, 0, 2);
  }

  TimedOperation timed() {
    const TemporaryTrace file(trace);
    const trace::TraceFile read(file.path());
    return Intervals(read, {steps(1, 4, 1)}, 10).operations().at(0);
  }

  static constexpr std::uint64_t kVolatile = 0x555500000000;
  trace::TraceBuilder trace;
};

TEST(Intervals, OperationThatStoresBeginsAtTheEndOfItsWaitForALock) {
  const TimedOperation timed = WaitingOperation(true).timed();
  EXPECT_EQ(timed.last_step - timed.first_step, 2);  // Lock, store, unlock
}

TEST(Intervals, OperationWithoutAStoreBeginsBeforeItsWaitForALock) {
  const TimedOperation timed = WaitingOperation(false).timed();
  EXPECT_GT(timed.last_step - timed.first_step, 2);
}

TEST(Intervals, OperationThatStoresBeforeItsWaitForALockBeginsAtItsFirstStore) {
  const TimedOperation timed = WaitingOperation(true, kPmBase + 128).timed();
  EXPECT_GT(timed.last_step - timed.first_step, 2);
}

// ---- Answers -----------------------------------------------------------------------------------

CheckerCommand reader(const std::string& script) {
  return {"--answers sh",
          PMEMSIM_CHECKER_HOST,
          false,
          {"/bin/sh", "-c", script, "reader"},
          60,
          "",
          {},
          true};
}

// Prints the first words of two lines; the third line is never read.
const std::string kTwoWords = "od -An -tu8 -N8 $1; od -An -tu8 -j64 -N8 $1";

litmus::Bytes words_of(const litmus::Bytes& bytes) {
  litmus::Bytes words(bytes.begin(), bytes.begin() + 8);
  words.insert(words.end(), bytes.begin() + 64, bytes.begin() + 72);
  return words;
}

constexpr std::size_t kAnswerLines = 3;

// Applies the definition: an image is wrong if a crash at some time leaves it, and no image that is
// correct at that time has the same words.
class ByDefinition {
 public:
  ByDefinition(const litmus::Program& program, const std::vector<CallOrRegion>& operations,
               PersistencyRules rules)
      : program_(program), operations_(operations), rules_(rules) {}

  litmus::Images wrong() const {
    litmus::Images found;
    for (std::uint64_t crash_time = 0; crash_time <= program_.size(); ++crash_time) {
      const std::set<litmus::Bytes> right = right_at(crash_time);
      for (const litmus::Bytes& image : left_at(crash_time)) {
        if (!right.contains(words_of(image))) found.insert(image);
      }
    }
    return found;
  }

 private:
  // Returns the images that a crash immediately after a step can leave. They are the images that
  // contain another store, which becomes visible immediately after the step.
  litmus::Images left_at(std::uint64_t crash_time) const {
    litmus::Program until(program_.begin(),
                          program_.begin() + static_cast<std::ptrdiff_t>(crash_time));
    until.push_back({0, Do::kStore, kAnswerLines * 64, 1});
    litmus::Images found;
    const litmus::Definition definition(until, rules_, kAnswerLines + 1);
    for (litmus::Bytes image : definition.images()) {
      if (image[kAnswerLines * 64] != 1) continue;
      image.resize(kAnswerLines * 64);
      found.insert(image);
    }
    return found;
  }
  litmus::Bytes whole(std::uint64_t crash_time) const {
    litmus::Bytes bytes(kAnswerLines * 64);
    for (std::uint64_t step = 0; step < crash_time; ++step) {
      if (!litmus::is_store(program_[step].what)) continue;
      std::memcpy(bytes.data() + program_[step].at, &program_[step].value, 8);
    }
    return words_of(bytes);
  }
  std::set<litmus::Bytes> right_at(std::uint64_t crash_time) const {
    std::uint64_t since = 0;
    for (const CallOrRegion& each : operations_) {
      if (each.first <= crash_time && crash_time < each.last) {
        return {whole(each.first - 1), whole(each.last)};
      }
      if (each.last <= crash_time) since = each.last;
    }
    std::set<litmus::Bytes> right;
    for (std::uint64_t at = since; at <= crash_time; ++at) right.insert(whole(at));
    return right;
  }

  const litmus::Program& program_;
  const std::vector<CallOrRegion>& operations_;
  const PersistencyRules rules_;
};

constexpr std::uint64_t kAllAnswers = 100000;

// Returns the images that the check finds wrong, among at most `most` images.
litmus::Images wrong_by_check(const litmus::Program& program,
                              const std::vector<CallOrRegion>& operations, PersistencyRules rules,
                              std::uint64_t most, std::size_t jobs) {
  litmus::Recorder recorder(program, 1);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  AnswerCheck check(read, rules, 1, most, reader(kTwoWords), jobs, operations);
  while (check.show_next([] {})) {
  }
  EXPECT_TRUE(most < kAllAnswers || check.images().images().search().complete());
  litmus::Images found;
  for (const std::uint64_t number : check.find_wrong([] {})) {
    EXPECT_TRUE(check.images().go_to(number));
    const auto wrong = check.check_image([] {});
    EXPECT_TRUE(wrong.has_value());
    litmus::Bytes bytes(kAnswerLines * 64);
    for (std::size_t line = 0; line < kAnswerLines; ++line) {
      const LineData data = check.images().image().read(Line::of(kPmBase + line * 64));
      std::memcpy(bytes.data() + line * 64, data.data(), data.size());
    }
    found.insert(bytes);
  }
  EXPECT_EQ(check.unchecked(), 0);
  return found;
}

struct RandomCase {
  litmus::Program program;
  std::vector<CallOrRegion> operations;
};

RandomCase random_case(std::mt19937& random) {
  const auto draw = [&](unsigned most) { return random() % most; };
  RandomCase found;
  for (std::uint64_t step = 1; step <= 11; ++step) {
    const std::uint64_t at = draw(kAnswerLines) * 64;
    const unsigned what = draw(10);
    const Do kind = what < 4   ? Do::kStore
                    : what < 5 ? Do::kNonTemporal
                    : what < 7 ? Do::kClwb
                    : what < 8 ? Do::kClflush
                               : Do::kSfence;
    found.program.push_back({0, kind, at, step});
  }
  for (std::uint64_t step = 1 + draw(3); step <= found.program.size();) {
    const std::uint64_t last = std::min<std::uint64_t>(step + draw(5), found.program.size());
    found.operations.push_back(steps(step, last));
    step = last + 1 + draw(2) * draw(3);
  }
  return found;
}

// Operations that store, flush and wait; one in eight flushes another line.
RandomCase tidy_case(std::mt19937& random) {
  RandomCase found;
  for (std::uint64_t step = 1; step <= 12; step += 3) {
    const std::uint64_t at = random() % kAnswerLines * 64;
    const std::uint64_t flushed = random() % 8 == 0 ? 128 - at : at;
    found.program.push_back({0, Do::kStore, at, step});
    found.program.push_back({0, Do::kClwb, flushed});
    found.program.push_back({0, Do::kSfence});
    found.operations.push_back(steps(step, step + 2));
  }
  return found;
}

// The long form has more cases.
class DefinitionTest : public testing::TestWithParam<PersistencyRules> {};

TEST_P(DefinitionTest, WrongImagesMatchTheDefinition) {
  std::mt19937 random(7);
  std::size_t wrong = 0, right = 0, missed = 0;
  const unsigned cases = long_tests() ? 16 : 8;
  for (unsigned number = 0; number < cases; ++number) {
    const RandomCase each = number % 2 == 0 ? random_case(random) : tidy_case(random);
    const litmus::Images expected = ByDefinition(each.program, each.operations, GetParam()).wrong();
    const litmus::Images found =
        wrong_by_check(each.program, each.operations, GetParam(), kAllAnswers, 1 + number % 3);
    EXPECT_TRUE(std::ranges::includes(expected, found)) << number;
    // A search that shows likely images only, in another order.
    const litmus::Images some = wrong_by_check(each.program, each.operations, GetParam(), 12, 2);
    EXPECT_TRUE(std::ranges::includes(expected, some)) << number;
    // The check can't see whether an image contains a non-temporal store that another non-temporal
    // store has overwritten. Such an image is checked at the points in time of one of the two.
    const bool distinct = !std::ranges::any_of(
        each.program, [](const litmus::Step& step) { return step.what == Do::kNonTemporal; });
    EXPECT_TRUE(!distinct || found == expected) << number;
    missed += expected.size() - found.size();
    (expected.empty() ? right : wrong) += 1;
  }
  EXPECT_GE(wrong, cases / 8);
  EXPECT_GE(right, cases / 8);
  EXPECT_LT(missed, 10);
}

INSTANTIATE_TEST_SUITE_P(AnswerCheck, DefinitionTest,
                         testing::Values(PersistencyRules::kPx86, PersistencyRules::kEadr));

// Each operation stores to its own line and makes it durable while the other operation is in
// execution.
TEST(AnswerCheck, AnyOverlappingOperationsMayBeDone) {
  const litmus::Program program{
      {0, Do::kStore, 0, 1}, {1, Do::kStore, 64, 2}, {0, Do::kClwb, 0},
      {0, Do::kSfence},      {1, Do::kClwb, 64},     {1, Do::kSfence},
  };
  litmus::Recorder recorder(program, 2);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  const std::vector<CallOrRegion> operations{
      {.thread = 0, .name = "f", .first = 1, .last = UINT64_MAX},
      {.thread = 1, .name = "f", .first = 1, .last = UINT64_MAX}};
  for (const std::string& script : {kTwoWords, std::string("od -An -tu8 -N8 $1; echo $$")}) {
    AnswerCheck check(read, PersistencyRules::kPx86, 1, 1000, reader(script), 2, operations);
    while (check.show_next([] {})) {
    }
    const std::size_t wrong = check.find_wrong([] {}).size();
    EXPECT_EQ(wrong == 0, script == kTwoWords);  // the other one never says the same twice
  }
}

// Thread 2's store belongs to no operation, and is durable soon. A crash right after it may leave
// it with any of the two operations that are in execution.
TEST(AnswerCheck, StoreOfNoOperationCountsFromItsOwnStep) {
  const litmus::Program program{
      {0, Do::kStore, 0, 1}, {1, Do::kStore, 64, 2}, {2, Do::kStore, 128, 3},
      {2, Do::kClwb, 128},   {2, Do::kSfence},       {0, Do::kClwb, 0},
      {0, Do::kSfence},      {1, Do::kClwb, 64},     {1, Do::kSfence},
  };
  litmus::Recorder recorder(program, 3);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile read(file.path());
  AnswerCheck check(read, PersistencyRules::kPx86, 1, 1000,
                    reader(kTwoWords + "; od -An -tu8 -j128 -N8 $1"), 2,
                    {steps(1, UINT64_MAX, 0), steps(1, UINT64_MAX, 1)});
  while (check.show_next([] {})) {
  }
  EXPECT_EQ(check.find_wrong([] {}), std::vector<std::uint64_t>{});
}

// ---- Readers -----------------------------------------------------------------------------------

TEST(Reader, StandardOutputIsSeparateFromTheLastOutput) {
  using Ending = CheckerAnswer::Ending;
  const std::vector<trace::PmRegion> regions{{kPmBase, kPmBase + 4096, ""}};
  const auto printed_by = [&](const std::string& script, Ending ending) {
    std::string text;
    CheckerPool pool(
        reader(script), regions, 1,
        [&](std::uint64_t, const CheckerAnswer&, const std::string& printed) { text = printed; });
    EXPECT_EQ(pool.check_image(Image(), {}, {}).ending, ending);
    return text;
  };
  EXPECT_EQ(printed_by("echo out; echo err >&2; printf end", Ending::kExited), "out\nend");
  EXPECT_EQ(printed_by("true", Ending::kExited), "");
  const std::string much = printed_by("yes | head -c 500001", Ending::kExited);
  EXPECT_EQ(much.size(), 500001);
  EXPECT_EQ(much.substr(499998), "y\ny");
  printed_by("yes", Ending::kTooMuch);
}

}  // namespace
}  // namespace pmemsim::answers
