// Every hardware design with random small sizes of all its structures, and random programs: every
// run completes, and every crash at a change of the persistent state is recovered.
#include <gtest/gtest.h>

#include "long_tests.hpp"
#include "shared_regions.hpp"

#include "pmemsim/designs/choices.hpp"

namespace pmemsim {
namespace {

class RandomSettings {
 public:
  RandomSettings(std::uint32_t seed, std::string_view design, std::uint32_t threads)
      : threads_(std::to_string(threads)), random_(seed) {
    add("atomicity", design);
    add("ordering", "x86");
    add("core.count", threads_);
    for (const auto& [key, values] : choices()) add(key, values[random_() % values.size()]);
  }
  void add(std::string_view key, std::string_view value) {
    list.push_back({std::string(key), std::string(value), "test"});
  }
  std::vector<Setting> list;

 private:
  struct Choice {
    std::string_view key;
    std::vector<std::string_view> values;
  };
  std::vector<Choice> choices() const {
    return {{"l1.size", {"128B", "256B", "4KiB"}},
            {"l1.ways", {"2"}},
            {"l2.size", {"0B"}},
            {"shared.size", {"16KiB"}},
            {"shared.size_per_core", {"0B"}},
            {"shared.ways", {"2"}},
            {"pm.controllers", {"1", "2", "3"}},
            {"pm.channels_per_controller", {"1", "2"}},
            {"pm.banks_per_rank", {"1", "2", "16"}},
            {"pm.interleaving", {"page", "line"}},
            {"pm.page_size", {"64B", "256B", "4KiB"}},
            {"pm.read_queue_entries", {"1", "2", "64"}},
            {"pm.wpq_entries", {"1", "2", "3", "4", "8", "16", "64"}},
            {"pm.log_queue_entries", {"0", "0", "1", "2", "8"}},
            {"pm.write_merging", {"true", "true", "false"}},
            {"pm.link_latency", {"0ns", "0ns", "70ns"}},
            {"pm.queue_place", {"host", "device"}},
            {"pm.persistence", {"accepted", "accepted", "written"}},
            {"log.allocation", {"sequential", "load-aware"}},
            {"log.area", {"shared", "per-core"}},
            {"log.metadata", {"collated-header", "adr-buffered", "queue-buffered"}},
            {"log.ring_size", {"4KiB", "8KiB"}},
            {"log.header_entries", {"0", "1", threads_, "4", "128"}},
            {"log.free_entries", {"16", "17", "1024"}},
            {"log.free_headers", {"16", "17", "256"}},
            {"hw_redo.log_buffer_entries", {"1", "2", "8"}},
            {"hw_redo.in_place", {"eager", "lazy"}},
            {"hw_redo.commit_after", {"log", "dram-cache"}},
            {"hw_redo.dram_cache_size", {"64B", "256B", "1MiB"}},
            {"asap.cl_entries", {"1", "2", "4"}},
            {"asap.cl_slots", {"1", "2", "8"}},
            {"asap.dependence_entries", {threads_, threads_, "4", "128"}},
            {"asap.dependence_slots", {"1", "2", "4"}},
            {"asap.lh_wpq_entries", {threads_, threads_, "4", "128"}},
            {"asap.filter_size", {"1B", "1KiB"}},
            {"asap.dpo_distance", {"1", "4", "16"}},
            {"asap.dpo_coalescing", {"true", "false"}},
            {"asap.lpo_dropping", {"true", "false"}},
            {"asap.dpo_dropping", {"true", "false"}},
            {"asap.fence_every_region", {"false", "false", "true"}},
            {"core.time_slice", {"0ns", "0ns", "100ns", "1us"}}};
  }
  const std::string threads_;
  std::mt19937 random_;
};

class RandomCrash : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Designs, RandomCrash,
                         testing::Values("hw-undo", "hw-redo", "lad", "asap"));

// Each seed has sizes and a program of its own; the long form has more seeds.
TEST_P(RandomCrash, RunCompletesAndEveryCrashRecovers) {
  const std::uint32_t programs = long_tests() ? 16 : 6;
  std::uint32_t ran = 0;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    SharedRegions::Options options{
        .seed = seed, .threads = 1 + seed % 4, .regions = 20, .lines_per_lock = 1 + seed % 20};
    RandomSettings settings(seed, GetParam(), options.threads);
    if (GetParam() == "asap" && seed % 3 == 0) {
      // A region that holds a lock until its commit must not depend on regions that wait for this
      // lock.
      options.locks_inside = options.false_sharing = true;
      settings.add("asap.fence_every_region", "false");
      settings.add("asap.dependence_entries", "128");
      settings.add("asap.lh_wpq_entries", "128");
      settings.add("pm.wpq_entries", "64");
    }
    try {
      const Configuration configuration = configure(settings.list);
      ++ran;
      EXPECT_EQ(crash_shared(options, configuration).problem, "") << seed;
    } catch (const ConfigError&) {  // sizes that don't work together are refused
    }
  }
  EXPECT_GT(ran, programs / 4);
}

}  // namespace
}  // namespace pmemsim
