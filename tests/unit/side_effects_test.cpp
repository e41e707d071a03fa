// Side effects of a library's check do not affect the next check (side_effects_checker.c), although
// a process makes several checks as long as none has side effects.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "pmemsim/checks/checkers/checker_pool.hpp"
#include "side_effects.h"

namespace pmemsim {
namespace {

using Ending = CheckerAnswer::Ending;

constexpr std::uint64_t kBase = 0x500000000000;

// Returns the processes that a process has started.
std::vector<pid_t> children_of(pid_t process) {
  const std::string name = std::to_string(process);
  std::ifstream file("/proc/" + name + "/task/" + name + "/children");
  std::vector<pid_t> found;
  for (pid_t child; file >> child;) found.push_back(child);
  return found;
}

class Checks {
 public:
  explicit Checks(const std::string& variable = "NONE=", std::uint64_t base = kBase,
                  std::uint64_t bytes = 3 * 4096 + 8)
      : line_(Line::of(base)),
        offset_(base % kLineBytes),
        pool_({"--verify-library",
               PMEMSIM_CHECKER_HOST,
               true,
               {PMEMSIM_SIDE_EFFECTS},
               1,
               "",
               {kLeaveSignals, "LIST=a,b", variable}},
              {{base, base + bytes, ""}}, 1) {}

  CheckerAnswer check_image(action what, std::uint64_t status = 0) {
    order(what, status);
    return pool_.check_image(image_, {&line_, 1}, {});
  }
  // Makes the checker report its reads.
  void watch(action what) {
    order(what, 0);
    pool_.show(image_, {&line_, 1}, {}, true);
    pool_.finish({});
  }
  // Returns the process that waits to make the next check; 0: there is none.
  static pid_t waits() {
    for (const pid_t host : children_of(getpid())) {
      for (const pid_t child : children_of(host)) return child;
    }
    return 0;
  }
  // Runs checks until there is a waiting process that has made some checks; false: there is none.
  bool settle() {
    constexpr int kTries = 200, kEnough = 20;
    for (int i = 0; i < kTries && waits() == 0; ++i) check_image(QUIET);
    for (int i = 0; i < kEnough; ++i) check_image(QUIET);
    return waits() != 0;
  }

 private:
  // Options for a sanitizer, so that it leaves signals to the checker.
  static constexpr const char* kLeaveSignals =
      "ASAN_OPTIONS=handle_segv=0:handle_abort=0:use_sigaltstack=0:detect_leaks=0";

  void order(action what, std::uint64_t status) {
    LineData data{};
    const std::uint64_t words[]{what, status};
    std::memcpy(data.data() + offset_, words, sizeof(words));
    image_.write(line_, data);
  }

  const Line line_;
  const std::size_t offset_;
  CheckerPool pool_;
  Image image_;
};

void expect_returned(const CheckerAnswer& answer, std::int32_t status) {
  EXPECT_EQ(answer.ending, Ending::kReturned);
  EXPECT_EQ(answer.status, status);
}

struct SideEffect {
  action what;
  bool has_side_effects;
  Ending ending = Ending::kReturned;
  std::int32_t status = 0;
};

constexpr SideEffect kCases[]{
    {QUIET, false},
    {WORK, false},
    {COUNT, true},
    {COUNT_BY_THREAD, true},
    {WRITE, true},
    {ALLOCATE, true},
    {FAIL, true},
    {FILL_STACK, false},
    {GO_DEEP, true},
    {GO_TOO_DEEP, true, Ending::kSignal, SIGSEGV},
    {LEAP, true},
    {ROUND, false},
    {OPEN, true},
    {START, true},
    {ASK, true},
    {ASK_CORE, true},
    {HANDLE, true},
    {SCRIBBLE, true},
    {UNMAP, true},
    {SAY, true},
    {FAULT, true, Ending::kSignal, SIGSEGV},
    {ABORT, true, Ending::kSignal, SIGABRT},
    {EXIT, true, Ending::kExited, 0},
    {HANG, true, Ending::kTooLong},
    {SPIN, true, Ending::kTooLong},
};

class SideEffectsTest : public testing::TestWithParam<SideEffect> {};

TEST_P(SideEffectsTest, SideEffectsEndWithTheCheck) {
  const SideEffect& given = GetParam();
  Checks checks;
  for (int round = 0; round < 3; ++round) {
    checks.settle();
    const CheckerAnswer answer = checks.check_image(given.what);
    EXPECT_EQ(answer.ending, given.ending);
    EXPECT_EQ(answer.status, given.status);
    EXPECT_EQ(std::string(answer.said.data(), answer.size), given.what == SAY ? "said\n" : "");
    for (const int status : {0, 5}) expect_returned(checks.check_image(QUIET, status), status);
  }
}

// On kernels that can report system calls.
TEST_P(SideEffectsTest, SideEffectsEndTheProcess) {
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) != 0) {
    GTEST_SKIP() << "this system can't tell a process of its own system calls";
  }
  const SideEffect& given = GetParam();
  Checks checks;
  ASSERT_TRUE(checks.settle());
  const pid_t before = Checks::waits();
  checks.check_image(QUIET);
  EXPECT_EQ(Checks::waits(), before);
  checks.check_image(given.what);
  EXPECT_EQ(Checks::waits(), given.has_side_effects ? 0 : before);
}

INSTANTIATE_TEST_SUITE_P(All, SideEffectsTest, testing::ValuesIn(kCases),
                         [](const auto& given) { return std::to_string(given.param.what); });

TEST(SideEffects, StackOfAnEarlierCheckIsNotVisible) {
  Checks checks;
  checks.settle();
  for (int round = 0; round < 3; ++round) {
    expect_returned(checks.check_image(FILL_STACK), 0);
    if (Checks::waits() != 0) expect_returned(checks.check_image(FIND_STACK), 0);
  }
}

TEST(SideEffects, WatchedCheckHasItsOwnProcess) {
  Checks checks;
  checks.settle();
  for (int round = 0; round < 3; ++round) {
    checks.watch(QUIET);
    EXPECT_EQ(Checks::waits(), 0);
    expect_returned(checks.check_image(QUIET, 5), 5);
  }
}

// A region that can't be mapped at its recorded address lies where the system maps it.
TEST(SideEffects, SideEffectsAreDetectedInARelocatedRegion) {
  Checks checks("NONE=", kBase + 32, (1 << 20) + 8);
  for (int round = 0; round < 3; ++round) {
    checks.settle();
    for (const int status : {5, 6}) expect_returned(checks.check_image(QUIET, status), status);
    expect_returned(checks.check_image(COUNT, 3), 3);
    expect_returned(checks.check_image(QUIET, 4), 4);
  }
}

TEST(SideEffects, SignalHandlersOfTheLibraryStay) {
  Checks checks("HANDLES_FAULTS=1");
  checks.settle();
  for (int round = 0; round < 3; ++round) {
    expect_returned(checks.check_image(FAULT_HANDLED, 3), 3);
    expect_returned(checks.check_image(QUIET, 4), 4);
  }
}

TEST(SideEffects, ChangesOfTheEnvironmentAreDetected) {
  Checks checks;
  checks.settle();
  for (int round = 0; round < 3; ++round) expect_returned(checks.check_image(CUT_VARIABLE, 3), 3);
}

// Whatever ended the waiting process, the next answers belong to their own images.
TEST(SideEffects, KilledWaitingProcessIsReplaced) {
  Checks checks;
  if (!checks.settle()) GTEST_SKIP() << "each check has a process of its own here";
  kill(Checks::waits(), SIGKILL);
  expect_returned(checks.check_image(QUIET, 4), 4);
  for (const int status : {5, 6, 7, 8}) expect_returned(checks.check_image(WORK, status), status);
}

// A checker that always has side effects is rarely watched, so that watching costs little.
TEST(SideEffects, CheckerWithConstantSideEffectsIsRarelyWatched) {
  Checks checks;
  for (int i = 0; i < 100; ++i) expect_returned(checks.check_image(COUNT, 3), 3);
  // The next check may be watched; no check after it is watched for a long time.
  checks.check_image(QUIET);
  for (int i = 0; i < 8; ++i) {
    checks.check_image(COUNT);
    checks.check_image(QUIET);
    EXPECT_EQ(Checks::waits(), 0);
  }
}

}  // namespace
}  // namespace pmemsim
