// Loads and stores that complete when they are dispatched have the times and statistics of those
// that pass through execution and retirement. An access that misses the first TLB does the latter,
// also if a page walk takes no time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "long_tests.hpp"
#include "random_trace.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

const std::vector<KeyValue> kNoTlb{{"tlb.entries", "0"}};
const std::vector<KeyValue> kTlbOfOnePage{{"tlb.entries", "1"},
                                          {"tlb.ways", "1"},
                                          {"tlb.second_entries", "0"},
                                          {"tlb.walk_latency", "0ns"}};

// Returns all statistics but those of the TLB as text, one in each line.
std::string statistics(const trace::TraceFile& file, const std::vector<KeyValue>& machine,
                       const std::vector<KeyValue>& tlb) {
  std::string text;
  for (const Statistic& one : simulate(file, configure(settings(machine, tlb)), {}).statistics) {
    if (one.name.ends_with(".translations") || one.name.ends_with(".tlb_misses") ||
        one.name.ends_with(".page_walks")) {
      continue;
    }
    text += fmt::format("{} {}\n", one.name, one.value);
  }
  return text;
}

const std::vector<std::vector<KeyValue>> kMachines = {
    {},
    {{"core.width", "1"}, {"core.store_queue_entries", "2"}, {"core.load_queue_entries", "2"}},
    {{"core.rob_entries", "8"}, {"core.mshrs", "1"}, {"core.full_fences", "true"}},
    {{"prefetch.streams", "4"}, {"l1.size", "4KiB"}, {"ordering", "dpo"}},
    {{"core.time_slice", "2us"}, {"ordering", "hops"}},
    {{"backend", "encryption,integrity"}, {"precompute", "pmweaver"}},
};

TEST(AtOnce, StatisticsAreTheSame) {
  const int seeds = long_tests() ? 40 : 8;  // the long form has more programs
  for (int seed = 1; seed <= seeds; ++seed) {
    RandomTrace random({.seed = static_cast<std::uint32_t>(seed), .lines = 16});
    const TemporaryTrace trace(random.builder);
    const trace::TraceFile file(trace.path());
    for (std::size_t machine = 0; machine < kMachines.size(); ++machine) {
      EXPECT_EQ(statistics(file, kMachines[machine], kNoTlb),
                statistics(file, kMachines[machine], kTlbOfOnePage))
          << "seed " << seed << ", machine " << machine;
    }
  }
}

}  // namespace
}  // namespace pmemsim
