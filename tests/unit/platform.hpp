// A test bench for a design between real caches and real memory, without cores.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/machine/cache/hierarchy.hpp"
#include "pmemsim/machine/cpu/running_threads.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "run_trace.hpp"

namespace pmemsim {

struct Platform {
  explicit Platform(const Configuration& configuration)
      : clock(configuration.core.frequency, configuration.core.width),
        dram(queue, configuration.dram),
        pm(queue, configuration.pm),
        design(configuration.blueprint(), queue, pm),
        caches({queue, pm_space, dram, pm, design}, clock, configuration.core.count,
               configuration.l1, configuration.l2, configuration.shared, configuration.path,
               {.write_combining = configuration.core.write_combining_buffers,
                .flushes = configuration.core.most_flushes()}) {
    pm_space.add({kPmBase, kPmBase + (1 << 20)});
    design.connect(queue, clock, caches, dram, pm_space, program_events, threads);
  }
  LayerContext context() {
    return {queue, clock, caches, design.backend(), dram, pm_space, program_events, threads};
  }

  // Runs until `reached` returns true; the test fails if it never does.
  void until(const std::function<bool()>& reached) {
    while (!reached()) {
      if (queue.step()) continue;
      ADD_FAILURE() << "nothing happens any more";
      return;
    }
  }
  void run() {
    while (queue.step()) {
    }
  }
  void wait(Picoseconds time) {
    bool reached = false;
    queue.schedule(
        queue.now() + time, Phase::kCore,
        {[](void* flag, std::uint64_t, Time) { *static_cast<bool*>(flag) = true; }, &reached, 0});
    until([&] { return reached; });
  }
  // Statistics of the design, by name.
  std::map<std::string, double> statistics() const {
    StatisticsCollector collector;
    design.statistics(collector);
    std::map<std::string, double> found;
    for (const Statistic& each : collector.found) found[each.name] = each.value;
    return found;
  }
  Time now() const { return queue.now(); }
  Picoseconds core_to_controller() const { return caches.core_to_controller(0); }

  EventQueue queue;
  PmSpace pm_space;
  const ProgramEvents program_events;
  RunningThreads threads;
  Clock clock;
  Memory dram, pm;
  Design design;
  Hierarchy caches;
};

}  // namespace pmemsim
