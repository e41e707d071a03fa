// The workloads as native programs: self-checks, recovery after being killed, bad input.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "long_tests.hpp"

namespace {

// Starts a workload without a terminal.
pid_t start(const std::string& workload, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), WORKLOADS_DIR "/" + workload);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int run(const std::string& workload, const std::vector<std::string>& arguments) {
  return exit_code(start(workload, arguments));
}

class Workload : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override { std::filesystem::remove(pool_); }

  // Unless the workload's benchmark fixes the size of its data.
  std::vector<std::string> with_data_bytes(std::string bytes,
                                           std::vector<std::string> arguments) const {
    if (!chooses_size_) return arguments;
    arguments.insert(arguments.begin(), {"--data-bytes", std::move(bytes)});
    return arguments;
  }

  const bool chooses_size_ = run(GetParam(), {"--data-bytes", "64", "--help"}) == 0;
  const std::string pool_ = (access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir()) +
                            "pmemsim_workload_test_" + std::to_string(getpid());
};

// The long form has two seeds instead of one, and more numbers of threads.
TEST_P(Workload, RunPassesItsOwnCheck) {
  std::vector<const char*> seeds{"1"}, counts{"1", "18"};
  if (pmemsim::kSanitized) counts = {"18"};
  if (pmemsim::long_tests()) {
    seeds = {"1", "2"};
    counts = {"1", "4", "18"};
  }
  for (const char* threads : counts)
    for (const char* seed : seeds)
      EXPECT_EQ(0, run(GetParam(), {"--threads", threads, "--seed", seed}))
          << threads << " threads, seed " << seed;
  for (const char* bytes : {"576", "2048", "8192"})
    EXPECT_EQ(0, run(GetParam(), with_data_bytes(bytes, {"--items=500", "--regions=3000"})))
        << bytes;
  // Several items share these bytes, and each is words.
  const std::string name = GetParam();
  const int expected = name == "string_swap" || name == "echo" ? 2 : 0;
  EXPECT_EQ(expected, run(name, with_data_bytes("72", {"--items=500", "--regions=3000"})));
  for (const char* ratio : {"0.5", "1"})
    EXPECT_EQ(0, run(GetParam(), {"--duplicate-ratio", ratio})) << ratio;
}

// The long form kills it four times instead of twice, and later in its life.
TEST_P(Workload, PoolIsWholeAfterItsProcessIsKilled) {
  const char* const before = pmemsim::long_tests() ? "100000" : "10000";
  ASSERT_EQ(0,
            run(GetParam(), with_data_bytes("1024", {"--pool", pool_, "--items", "300", "--regions",
                                                     before, "--threads", "1", "--seed", "1"})));
  for (int round = 0; round < pmemsim::amount(1, 2, 4); ++round) {
    const pid_t child = start(GetParam(), {"--pool", pool_, "--regions", "100000000", "--threads",
                                           "8", "--seed", std::to_string(round)});
    std::this_thread::sleep_for(std::chrono::milliseconds(60 + 7 * round));
    kill(child, SIGKILL);
    EXPECT_EQ(-1, exit_code(child));
    EXPECT_EQ(0, run(GetParam(), {"--verify", pool_})) << "round " << round;
  }
  EXPECT_EQ(0, run(GetParam(), {"--pool", pool_}));
}

// Overwrites bytes everywhere, in data and in pointers.
TEST_P(Workload, DamagedPoolIsRejected) {
  ASSERT_EQ(0, run(GetParam(), with_data_bytes("4096", {"--pool", pool_, "--items", "2000"})));
  ASSERT_EQ(0, run(GetParam(), {"--verify", pool_}));
  std::fstream file(pool_, std::ios::in | std::ios::out | std::ios::binary);
  for (std::streamoff at = 1 << 20; at < 6 << 20; at += 4096) {
    file.seekp(at + 2048);
    file.put('!');
    file.seekp(at + 7);
    file.put('!');
  }
  file.close();
  EXPECT_EQ(1, run(GetParam(), {"--verify", pool_}));
}

TEST_P(Workload, BadInputIsRejected) {
  EXPECT_EQ(0, run(GetParam(), {"--help"}));
  EXPECT_EQ(2, run(GetParam(), {"--threads", "0"}));
  EXPECT_EQ(2, run(GetParam(), {"--threads", "x"}));
  EXPECT_EQ(2, run(GetParam(), {"--regions"}));
  EXPECT_EQ(2, run(GetParam(), {"--data-bytes", "63"}));
  EXPECT_EQ(2, run(GetParam(), {"--data-bytes", "100"}));
  EXPECT_EQ(2, run(GetParam(), {"--data-bytes", "8200"}));
  EXPECT_EQ(2, run(GetParam(), {"--duplicate-ratio", "1.5"}));
  EXPECT_EQ(2, run(GetParam(), {"--wrong", "1"}));
  EXPECT_EQ(2, run(GetParam(), {"--verify", "/nowhere"}));
  EXPECT_EQ(2, run(GetParam(), {"--pool", "/nowhere/pool"}));
  std::ofstream(pool_) << std::string(1 << 20, 'x');
  EXPECT_EQ(1, run(GetParam(), {"--verify", pool_}));
  EXPECT_EQ(2, run(GetParam(), {"--pool", pool_}));
}

TEST(Workloads, PoolOfAnotherWorkloadIsRejected) {
  const std::string pool = testing::TempDir() + "pmemsim_foreign_pool_" + std::to_string(getpid());
  ASSERT_EQ(0, run("queue", {"--pool", pool, "--items", "10", "--regions", "10"}));
  EXPECT_EQ(2, run("btree", {"--pool", pool}));
  EXPECT_EQ(1, run("btree", {"--verify", pool}));
  std::filesystem::remove(pool);
}

// All workloads except store_misspeculation, whose regions release their lock before they end, so
// that a crash of two of them may leave a state that isn't consistent.
std::vector<std::string> workloads() {
  std::vector<std::string> names;
  std::istringstream listed(WORKLOADS);
  for (std::string name; std::getline(listed, name, ',');) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Workload, testing::ValuesIn(workloads()),
                         [](const auto& info) { return info.param; });

}  // namespace
