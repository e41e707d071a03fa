// Parts of a job on threads of their own: progress, and what stops them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "pmemsim/crash/run_parts.hpp"

namespace pmemsim {
namespace {

TEST(RunParts, EachPartRunsOnce) {
  std::vector<std::atomic<int>> runs(5);
  run_parts(5, {}, [&](std::uint32_t part, const PartProgress&) { ++runs[part]; });
  for (const std::atomic<int>& run : runs) EXPECT_EQ(run, 1);
}

TEST(RunParts, ProgressIsTheShareOfAllParts) {
  std::vector<double> shares;
  std::atomic<bool> other_is_half_done = false;
  const auto progress = [&](double share) {
    shares.push_back(share);
    return true;
  };
  run_parts(2, progress, [&](std::uint32_t part, const PartProgress& progress_of_part) {
    if (part == 1) {
      progress_of_part(0.5);
      other_is_half_done = true;
      other_is_half_done.notify_one();
      return;
    }
    other_is_half_done.wait(false);
    progress_of_part(1);
  });
  EXPECT_EQ(shares, std::vector{0.75});
}

// Waits until the part is stopped, and then fails as a simulation does.
void await_stop(const PartProgress& progress) {
  while (progress(0)) {
  }
  throw std::logic_error("this part was stopped");
}

TEST(RunParts, ExceptionOfAPartStopsTheOthersAndIsThrown) {
  for (const std::uint32_t failing : {0u, 2u}) {
    const auto work = [&](std::uint32_t part, const PartProgress& progress) {
      if (part == failing) throw std::runtime_error("this part failed");
      await_stop(progress);
    };
    EXPECT_THROW(run_parts(3, {}, work), std::runtime_error) << failing;
  }
}

TEST(RunParts, ProgressThatRefusesStopsAllParts) {
  int calls = 0;
  const auto progress = [&](double) { return ++calls < 3; };
  EXPECT_THROW(run_parts(2, progress,
                         [](std::uint32_t, const PartProgress& of_part) { await_stop(of_part); }),
               std::logic_error);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace pmemsim
