// Crashes the workloads that order their own stores, at their flushes and fences, with random sets
// of lost lines; opens each image and checks it.
//
// They are programs, each with a main function: so each is included into a namespace.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bucket_table.hpp"
#include "chains.hpp"
#include "long_tests.hpp"
#include "persist_model.hpp"
#include "section_logs.hpp"
#include "swap_array.hpp"

// The headers that they include are the ones above.
namespace array_swap {
#include "array_swap_lowlevel/array_swap_lowlevel.cpp"
}
namespace hashmap {
#include "hashmap_lowlevel/hashmap_lowlevel.cpp"
}
namespace linked_list {
#include "linked_list/linked_list.cpp"
}
namespace queue {
#include "queue_lowlevel/queue_lowlevel.cpp"
}

namespace {

unsigned char* const kStart = reinterpret_cast<unsigned char*>(PM_BASE);
constexpr std::uint64_t kPoolBytes = 16 << 20;

// A workload with one of its mixes.
template <class Workload, workload::Mix kOperations = workload::Mix::kInsertUpdate>
struct Program {
  using Structure = Workload;
  static constexpr workload::Mix kMix = kOperations;
};

template <class Program>
class LowLevel : public testing::Test {
 protected:
  using Structure = typename Program::Structure;

  LowLevel() {
    options_.mix = Program::kMix;
    options_.threads = 4;
    options_.regions = 300;
    options_.data_bytes = 192;
    options_.items = 100;
  }

  void TearDown() override {
    persist_model().stop();
    std::remove(path_.c_str());
  }

  // Runs the workload, taking images; false if one of them is damaged. The long form takes up to
  // 400 images instead of 150.
  bool is_whole_in_all(std::pair<std::uint64_t, std::uint64_t> broken = {}) {
    const std::size_t most_images = pmemsim::long_tests() ? 400 : 150;
    std::vector<Image> images;
    pm_pool* pool = open({}, true);
    EXPECT_TRUE(pool) << pm_error();
    {
      Structure structure(pool, options_);
      persist_model().break_fences(broken.first, broken.second);
      persist_model().sample(
          [&](Image image) {
            if (images.size() < most_images) images.push_back(std::move(image));
          },
          4, 4, 1);
      workload::run_threads(pool, structure, options_);
      persist_model().stop();
    }
    EXPECT_EQ(0, pm_close(pool));
    EXPECT_GT(images.size(), most_images / 2);
    return are_whole(images);
  }

 private:
  // In another process, because the pointers of a damaged image may lead anywhere. One is enough
  // for all images, as it ends at the first that is damaged.
  bool are_whole(const std::vector<Image>& images) {
    const pid_t child = fork();
    if (child == 0) {
      workload::report_wild_pointers();
      _exit(std::ranges::all_of(images, [&](auto& image) { return check(image).empty(); }) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  std::string check(const Image& image) {
    pm_pool* pool = open(image, false);
    if (!pool) return pm_error();
    std::string problem = Structure(pool).check().problem;
    // A recovered structure must be usable: further work must leave it consistent.
    if (problem.empty()) {
      Structure structure(pool);
      constexpr workload::Work kWork{0, 20, 7, 0, Program::kMix};
      auto requests = structure.draw(kWork);
      structure.run(kWork, requests);
      problem = structure.check().problem;
    }
    pm_close(pool);
    return problem;
  }

  pm_pool* open(const Image& image, bool watched) {
    EXPECT_TRUE(write_image(path_, image, kPoolBytes));
    if (watched) persist_model().watch(kStart, kPoolBytes, image);
    return pm_open(path_.c_str(), 0, 0);
  }

  workload::Options options_;
  const std::string path_ = (access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir()) +
                            "pmemsim_workload_crash_test_" + std::to_string(getpid());
};

using Programs =
    testing::Types<Program<workload::SwapWorkload<array_swap::ArraySwapLowLevel>>,
                   Program<workload::Map<hashmap::LowLevelHashMap>>,
                   Program<workload::Map<hashmap::LowLevelHashMap>, workload::Mix::kReadUpdate>,
                   Program<workload::Map<linked_list::LinkedLists>>, Program<queue::LowLevelQueues>,
                   Program<queue::LowLevelQueues, workload::Mix::kSections>>;
TYPED_TEST_SUITE(LowLevel, Programs);

TYPED_TEST(LowLevel, DataAreWholeAfterEveryCrash) { EXPECT_TRUE(this->is_whole_in_all()); }

// The check can fail.
TYPED_TEST(LowLevel, FencesWithoutEffectAreDetected) {
  EXPECT_FALSE(this->is_whole_in_all({0, kPoolBytes}));
}

}  // namespace
