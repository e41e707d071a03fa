// Reports of the pages that checkers read, whichever way they read them (reading_checker.c).
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pmemsim/checks/checkers/checker_pool.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kReadBase = 0x500000000000;
constexpr std::uint64_t kReadPages = 64;
constexpr std::uint64_t kAtOnce = 16;  // pages that a kernel maps together
const std::vector<trace::PmRegion> kReadRegions{{kReadBase, kReadBase + kReadPages * 4096, ""}};

using Pages = std::set<std::uint64_t>;

struct Judged {
  bool accepted;
  std::optional<Pages> read;  // empty if the checker does not report its reads
};

// Each page has a word of its own, so that none is missing in the file.
Image numbered_image() {
  Image image;
  for (std::uint64_t page = 0; page < kReadPages; ++page) {
    LineData data{};
    data[0] = static_cast<std::byte>(100 + page);
    image.write(Line::of(kReadBase + page * 4096), data);
  }
  return image;
}
const std::uint64_t kBadWord = 9;

void make_bad(Image& image, std::uint64_t page) {
  LineData data{};
  data[0] = static_cast<std::byte>(kBadWord);
  image.write(Line::of(kReadBase + page * 4096), data);
}

CheckerCommand command_of(std::vector<std::string> words) {
  return {"--verify", PMEMSIM_CHECKER_HOST, false, std::move(words), 20, ""};
}

Judged checked(CheckerPool& pool, const Image& image) {
  std::vector<Line> lines;
  for (std::uint64_t page = 0; page < kReadPages; ++page) {
    lines.push_back(Line::of(kReadBase + page * 4096));
  }
  const std::uint64_t number = pool.shown();
  pool.show(image, lines, {}, true);
  pool.finish({});
  Judged found{.accepted = !pool.rejected().contains(number), .read = {}};
  for (const auto& [reported, pages] : pool.take_pages_read()) {
    EXPECT_EQ(reported, number);
    found.read.emplace();
    for (const std::uint64_t page : pages) found.read->insert(page - kReadBase / 4096);
  }
  return found;
}

std::vector<std::string> words_of(const std::string& program, const std::string& way,
                                  const Pages& pages) {
  std::vector<std::string> words{program, way};
  for (const std::uint64_t page : pages) words.push_back(std::to_string(page));
  return words;
}

Judged checked(const std::string& program, const std::string& way, const Pages& pages,
               const Image& image = numbered_image()) {
  CheckerPool pool(command_of(words_of(program, way, pages)), kReadRegions, 1);
  return checked(pool, image);
}

Pages with_their_neighbours(const Pages& pages) {
  Pages all;
  for (const std::uint64_t page : pages) {
    for (std::uint64_t i = 0; i < kAtOnce; ++i) all.insert(page / kAtOnce * kAtOnce + i);
  }
  return all;
}

const Pages kSome{0, 3, 17, 18, 40, 63};

// Ways of reading whose pages are reported exactly.
const std::vector<std::string> kExact{
    "shared",  "private",      "written",    "in_parts",
    "closed",  "unmapped",     "replaced",   "unmapped_in_part",
    "dropped", "moved",        "moved_over", "by_the_kernel",
    "by_read", "by_pread",     "by_a_child", "of_the_same_size",
    "spawned", "by_the_shell", "executed",   "executed_in_vain",
    "at_once", "in_a_thread",  "raw",        "without_right",
    "at_exit",
};
// Ways of reading for which neighbouring pages are reported, too.
const std::vector<std::string> kRoughly{"shared_read_only", "mapped_before_fork", "by_stdio",
                                        "after_main"};
const std::vector<std::string> kUntraceable{
    "by_a_killed_child",   "by_who_goes_on", "truncated",     "by_another_name",
    "by_splice",           "by_residence",   "by_holes",      "by_other_calls",
    "from_standard_input", "by_readv",       "onto_the_heap", "collapsed",
    "many_calls",          "sent",           "by_old_calls",  "dropped_beside_a_thread",
};

// True if this system lets a process watch the processes that it has started, and reports in time
// what they do.
bool may_watch() {
  utsname system{};
  int version = 0, part = 0;
  uname(&system);
  std::sscanf(system.release, "%d.%d", &version, &part);
  if (std::pair(version, part) < std::pair(5, 19)) return false;
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    pause();
    _exit(0);
  }
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const int file = static_cast<int>(syscall(SYS_pidfd_getfd, process, 0, 0));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(process);
  close(file);
  return file >= 0;
}

void skip_unless_watched() {
  static const bool may = may_watch();
  if (!may) GTEST_SKIP() << "programs can't be watched here (Linux 5.19, pidfd_getfd)";
}

class ReadsOfPrograms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { skip_unless_watched(); }
};

// Verdicts that hold whether programs are watched or not.
class VerdictsOfPrograms : public testing::TestWithParam<std::string> {};

TEST_P(ReadsOfPrograms, PagesReadAreReportedExactly) {
  for (const std::string& way : kExact) {
    const Judged found = checked(GetParam(), way, kSome);
    EXPECT_TRUE(found.accepted) << way;
    ASSERT_TRUE(found.read) << way;
    EXPECT_EQ(*found.read, kSome) << way;
  }
}

TEST_P(ReadsOfPrograms, PagesReadAreReportedWithNeighbouringPages) {
  for (const std::string& way : kRoughly) {
    const Judged found = checked(GetParam(), way, kSome);
    EXPECT_TRUE(found.accepted) << way;
    ASSERT_TRUE(found.read) << way;
    EXPECT_TRUE(std::ranges::includes(*found.read, kSome)) << way;
    EXPECT_TRUE(std::ranges::includes(with_their_neighbours(kSome), *found.read)) << way;
  }
}

TEST_P(VerdictsOfPrograms, UntraceableReadsAreNotReported) {
  for (const std::string& way : kUntraceable) {
    const Judged found = checked(GetParam(), way, kSome);
    EXPECT_TRUE(found.accepted) << way;
    EXPECT_FALSE(found.read) << way;
  }
}

TEST_P(ReadsOfPrograms, ReadingAllPagesReportsAllPages) {
  const Judged found = checked(GetParam(), "whole", kSome);
  ASSERT_TRUE(found.read);
  EXPECT_EQ(found.read->size(), kReadPages);
}

// If a signal arrives while the checker is stopped, its reads may not be reported. This is rare,
// and more frequent on a busy host.
TEST_P(ReadsOfPrograms, PagesReadAreReportedDespiteSignals) {
  int reported = 0;
  for (int time = 0; time < 8; ++time) {
    const Judged found = checked(GetParam(), "interrupted", kSome);
    EXPECT_TRUE(found.accepted);
    if (!found.read) continue;
    ++reported;
    EXPECT_TRUE(std::ranges::includes(*found.read, kSome));
  }
  EXPECT_GT(reported, 0);
}

// A program that can't run while it is watched is run again unwatched.
TEST_P(VerdictsOfPrograms, ProgramThatFailsWhileWatchedIsRunAgainUnwatched) {
  const Judged found = checked(GetParam(), "unwatched", kSome);
  EXPECT_TRUE(found.accepted);
  EXPECT_FALSE(found.read);
}

TEST_P(VerdictsOfPrograms, BadPageIsRejected) {
  Image image = numbered_image();
  make_bad(image, 18);
  for (const auto* ways : {&kExact, &kRoughly}) {
    for (const std::string& way : *ways) {
      const Judged found = checked(GetParam(), way, kSome, image);
      EXPECT_EQ(found.accepted, way == "written") << way;
    }
  }
}

// One checker reads several images in sequence, each in another way.
TEST_P(ReadsOfPrograms, PagesReadBelongToTheCurrentImage) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 6; ++round) {
    const std::string& way = kExact[random() % kExact.size()];
    Pages pages;
    while (pages.size() < 5) pages.insert(random() % kReadPages);
    CheckerPool pool(command_of(words_of(GetParam(), way, pages)), kReadRegions, 1);
    for (int shown = 0; shown < 5; ++shown) {
      Image image = numbered_image();
      const std::uint64_t bad = random() % kReadPages;
      make_bad(image, bad);
      const Judged found = checked(pool, image);
      const bool seen = pages.contains(bad) && way != "written";
      EXPECT_EQ(found.accepted, !seen) << way;
      if (seen) continue;
      ASSERT_TRUE(found.read) << way;
      EXPECT_EQ(*found.read, pages) << way;
    }
  }
}

TEST_P(ReadsOfPrograms, PagesReadInThePreviousImageAreNotReported) {
  CheckerPool pool(command_of(words_of(GetParam(), "led", {})), kReadRegions, 1);
  for (const std::uint64_t page : {40, 3, 17}) {
    Image image = numbered_image();
    LineData data{};
    data[0] = static_cast<std::byte>(100 + page);
    image.write(Line::of(kReadBase), data);
    const Judged found = checked(pool, image);
    ASSERT_TRUE(found.read);
    EXPECT_EQ(*found.read, (Pages{0, page}));
  }
}

// The kernel decides what the checker may do, and whether it may do so while it is watched.
TEST_P(VerdictsOfPrograms, SetuidProgramReportsNoReads) {
  namespace fs = std::filesystem;
  const fs::path program =
      fs::path(testing::TempDir()) / ("pmemsim-rights-" + std::to_string(getpid()));
  fs::copy_file(GetParam(), program, fs::copy_options::overwrite_existing);
  fs::permissions(program, fs::perms::owner_all | fs::perms::set_uid);
  CheckerPool pool(command_of({"/bin/sh", "-c", program.string() + " private 5 $1", "check"}),
                   kReadRegions, 1);
  const Judged found = checked(pool, numbered_image());
  EXPECT_TRUE(found.accepted);
  EXPECT_FALSE(found.read);
  fs::remove(program);
}

const auto kLinked = testing::Values(PMEMSIM_READING_CHECKER, PMEMSIM_READING_CHECKER_STATIC);
std::string name_of_linked(const testing::TestParamInfo<std::string>& parameter) {
  return parameter.index == 0 ? "Dynamically" : "Statically";
}
INSTANTIATE_TEST_SUITE_P(Linked, ReadsOfPrograms, kLinked, name_of_linked);
INSTANTIATE_TEST_SUITE_P(Linked, VerdictsOfPrograms, kLinked, name_of_linked);

TEST(ReadsOfScripts, PagesReadByAllProgramsOfAScriptAreReported) {
  skip_unless_watched();
  if (IsSkipped()) return;
  const std::string dynamic = PMEMSIM_READING_CHECKER, fixed = PMEMSIM_READING_CHECKER_STATIC;
  const auto script = [](const std::string& text) {
    CheckerPool pool(command_of({"/bin/sh", "-c", text, "check"}), kReadRegions, 1);
    return checked(pool, numbered_image());
  };
  const Judged all = script(dynamic + " shared 5 $1 && " + fixed + " unmapped 9 $1 && (" + dynamic +
                            " by_read 20 21 $1 | cat)");
  EXPECT_TRUE(all.accepted);
  ASSERT_TRUE(all.read);
  EXPECT_EQ(*all.read, (Pages{5, 9, 20, 21}));
  const Judged none = script("exit 0");
  ASSERT_TRUE(none.read);
  EXPECT_TRUE(none.read->empty());
  EXPECT_FALSE(script(dynamic + " shared 5 $1; kill -9 $$").accepted);
  const Judged redirected = script("cat < $1 > /dev/null");
  EXPECT_TRUE(!redirected.read || redirected.read->size() == kReadPages);
}

// Children end while the shell starts others. Their signals interrupt stopped calls of the shell,
// whose handler asks for no restart.
TEST(ReadsOfScripts, SignalsThatInterruptAScriptRejectNoImage) {
  const std::string start = std::string(PMEMSIM_READING_CHECKER_STATIC) + " shared 5 $1 & ";
  std::string text;
  for (int child = 0; child < 8; ++child) text += start;
  CheckerPool pool(command_of({"/bin/sh", "-c", text + "wait", "check"}), kReadRegions, 1);
  for (int image = 0; image < 10; ++image) {
    const Judged found = checked(pool, numbered_image());
    EXPECT_TRUE(found.accepted);
    if (found.read) EXPECT_EQ(*found.read, (Pages{5}));
  }
}

TEST(ReadsOfScripts, RejectedImageIsNotCheckedAgain) {
  const std::string seen = testing::TempDir() + "pmemsim-seen-" + std::to_string(getpid());
  CheckerPool pool(command_of({"/bin/sh", "-c", "! mkdir " + seen + " 2> /dev/null", "check"}),
                   kReadRegions, 1);
  EXPECT_FALSE(checked(pool, numbered_image()).accepted);
  EXPECT_TRUE(checked(pool, numbered_image()).accepted);
  std::filesystem::remove(seen);
}

// A process that isn't the checker's.
TEST(ReadsOfOtherProcesses, CheckerServedByAnotherProcessReportsNoReads) {
  const std::string asked = testing::TempDir() + "pmemsim-asked-" + std::to_string(getpid());
  std::atomic<bool> done = false;
  std::thread other([&] {
    for (std::string path; !done; std::this_thread::yield()) {
      std::ifstream question(asked);
      if (!std::getline(question, path) || question.eof()) continue;
      std::ifstream(path).get();
      std::filesystem::remove(asked);
    }
  });
  CheckerCommand command = command_of(words_of(PMEMSIM_READING_CHECKER, "by_somebody_else", kSome));
  command.environment = {"ASKED=" + asked};
  CheckerPool pool(command, kReadRegions, 1);
  const Judged found = checked(pool, numbered_image());
  done = true;
  other.join();
  EXPECT_TRUE(found.accepted);
  EXPECT_FALSE(found.read);
}

}  // namespace
}  // namespace pmemsim
