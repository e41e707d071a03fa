// PMEM-Spec on the bench for orderings: two cores, so that the speculation window is 40 ns.
#pragma once

#include "pmemsim/designs/ordering/pmem_spec.hpp"
#include "unit/ordering_bench.hpp"

namespace pmemsim {

struct SpecSurroundings {
  std::uint32_t controllers = 1, wpq_entries = 64;
  bool regions = true;
};

class PmemSpecBench : public testing::Test {
 protected:
  explicit PmemSpecBench(const PmemSpecParameters& parameters = {},
                         const SpecSurroundings& surroundings = {})
      : bench(2,
              std::make_unique<PmemSpecOrdering>(
                  PmemSpecOrdering::Surroundings{.cores = 2,
                                                 .controllers = surroundings.controllers,
                                                 .acknowledgement = kBenchFrontEnd,
                                                 .regions = surroundings.regions,
                                                 .before_commit = trace::Purpose::kDataFlush},
                  parameters),
              ordering_memory(surroundings.controllers, surroundings.wpq_entries)) {}
  double count(const std::string& name) const { return bench.statistic("pmem_spec." + name); }

  // The core stores to line 0. The line is evicted and read again before the store has arrived,
  // which raises an alarm 20 ns from now.
  void misspeculate(CoreId core, std::uint64_t value) {
    bench.store(core, kW0, value);
    bench.evict(kL0);  // the controller is notified at 7
    bench.at(bench.now() + ns(10), [this, core] { bench.fetch(core, kL0); });
    bench.at(bench.now() + ns(12), [this, core] { bench.load(core, kW0); });
  }

  static constexpr std::uint64_t kW0 = pm_word(0), kW1 = pm_word(1), kW2 = pm_word(2);
  static constexpr Line kL0 = pm_line_of(0), kL1 = pm_line_of(1), kL2 = pm_line_of(2);
  OrderingBench bench;
};

}  // namespace pmemsim
