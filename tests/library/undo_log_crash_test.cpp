// Crashes a workload that has a hand-written undo log, at its flushes and fences, with every
// mixture of lost and surviving lines that a random choice finds. The recovered pool must be
// consistent and contain everything that was durable, also if recovery is interrupted itself.
//
// Built once for each workload: WORKLOAD is its class, WORKLOAD_SOURCE its file, TABLES the
// namespace of its root object.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "long_tests.hpp"
#include "persist_model.hpp"

#define main workload_main
#include WORKLOAD_SOURCE
#undef main

namespace {

unsigned char* const kStart = reinterpret_cast<unsigned char*>(PM_BASE);
constexpr std::uint64_t kPoolBytes = 4 << 20;
constexpr std::uint64_t kItems = 120;
constexpr unsigned kRegions = 40;  // number of regions of each thread
// Number of crash points, approximately, and images of each. The long form has 120 points instead
// of 60.
const std::uint64_t kCrashes = pmemsim::amount(20, 60, 120);
constexpr unsigned kImages = 4;

class UndoLogCrash : public testing::Test {
 protected:
  struct CrashPoint {
    Image image;
    std::uint64_t items;  // number of durable items
  };

  void TearDown() override {
    persist_model().stop();
    std::remove(path_.c_str());
  }

  // Returns how many items that added.
  static std::uint64_t place(WORKLOAD& workload, const workload::Work& work) {
    auto requests = workload.draw(work);
    return workload.run(work, requests).added;
  }

  // Runs the workload and returns what crashes would have left. With `broken_logs` the fences don't
  // make the workload's logs durable.
  std::vector<CrashPoint> run(unsigned threads, bool broken_logs) {
    workload::Options options;
    options.items = kItems;
    pm_pool* pool = open({});
    WORKLOAD workload(pool, options);
    if (broken_logs) break_logs(pool);
    std::atomic<std::uint64_t> items = workload.check().items;
    const std::uint64_t fences_before = persist_model().fences();
    items += place(workload, {0, 1, 0});
    const std::uint64_t fences = (persist_model().fences() - fences_before) * kRegions * threads;
    std::vector<CrashPoint> points;
    persist_model().sample([&](Image image) { points.push_back({std::move(image), items.load()}); },
                           kImages, 1 + static_cast<unsigned>(fences / kCrashes), threads);
    std::vector<std::thread> running;
    for (unsigned t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        for (unsigned i = 0; i < kRegions; ++i) items += place(workload, {t, 1, i + 1});
      });
    for (std::thread& thread : running) thread.join();
    persist_model().stop();
    EXPECT_EQ(0, pm_close(pool));
    return points;
  }

  // Recovers from the crash; then from crashes during the recovery.
  std::string examine(const CrashPoint& point, unsigned threads, bool interrupt) {
    std::vector<Image> again;
    if (interrupt)
      persist_model().sample([&](Image image) { again.push_back(std::move(image)); }, 3, 1, 1);
    std::string problem = recover(point.image, point.items, threads);
    for (const Image& image : again)
      if (problem.empty()) problem = recover(image, point.items, threads);
    return problem;
  }

 private:
  static void break_logs(pm_pool* pool) {
    const auto* root = static_cast<const TABLES::Root*>(pm_root(pool, sizeof(TABLES::Root)));
    const auto begin = reinterpret_cast<std::uintptr_t>(root->logs) - PM_BASE;
    persist_model().break_fences(begin, begin + PM_MAX_THREADS * sizeof(Log));
  }

  std::string recover(const Image& image, std::uint64_t items, unsigned threads) {
    pm_pool* pool = open(image);
    if (!pool) return pm_error();
    WORKLOAD workload(pool);
    persist_model().stop();
    const workload::Check check = workload.check();
    pm_close(pool);
    if (check.problem.empty() && (check.items < items || check.items > items + threads))
      return "it has " + std::to_string(check.items) + " items instead of " + std::to_string(items);
    return check.problem;
  }

  pm_pool* open(const Image& image) {
    EXPECT_TRUE(write_image(path_, image, kPoolBytes));
    persist_model().watch(kStart, kPoolBytes, image);
    return pm_open(path_.c_str(), 0, 0);
  }

  // The file is in memory where possible: closing a pool writes it to its file.
  const std::string path_ = (access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir()) +
                            "pmemsim_undo_log_crash_test_" + std::to_string(getpid());
};

TEST_F(UndoLogCrash, EveryImageIsWholeAfterRecovery) {
  for (const unsigned threads : {1, 3}) {
    const std::vector<CrashPoint> points = run(threads, false);
    EXPECT_GT(points.size(), kCrashes);
    for (std::size_t i = 0; i < points.size(); ++i)
      ASSERT_EQ("", examine(points[i], threads, i % 8 == 2)) << threads << " threads, image " << i;
  }
}

// Recovery may end in a signal then.
TEST_F(UndoLogCrash, MissingLogFencesAreDetected) {
  const auto damaged = [&](const CrashPoint& point) {
    const pid_t child = fork();
    if (child == 0) {
      workload::report_wild_pointers();  // the sanitizer would take a second for each
      _exit(examine(point, 3, false).empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
  };
  EXPECT_TRUE(std::ranges::any_of(run(3, true), damaged));
}

}  // namespace
