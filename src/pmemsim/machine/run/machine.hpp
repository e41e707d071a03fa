// A machine with a design on it: all components, wired together, and the loop that runs them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pmemsim/analysis/races.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"
#include "pmemsim/designs/interface/program_events.hpp"
#include "pmemsim/machine/cache/hierarchy.hpp"
#include "pmemsim/machine/cpu/core.hpp"
#include "pmemsim/machine/cpu/running_threads.hpp"
#include "pmemsim/machine/cpu/speculative_stores.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// What is wrong with running the trace on this machine, where every thread needs a core and every
// lock a place; empty if nothing is.
std::string fit_problem(const Configuration& configuration, const trace::TraceFile& trace);

// What persistent memory holds when the trace begins, as any number of machines can begin with it.
// Throws Error if this computer has no room for it, trace::TraceError.
std::shared_ptr<const Image::Pages> load_contents(const trace::TraceFile& trace);

class Machine {
 public:
  // Of persistent memory, of each instance: what is newest, and what is on the device.
  static constexpr std::uint64_t kCopies = 2;

  // Begins with the trace's `contents`, loaded here if they aren't given. Throws ConfigError if the
  // trace doesn't fit the machine (more threads than cores), and trace::TraceError.
  Machine(const Configuration& configuration, const trace::TraceFile& trace,
          std::shared_ptr<const Image::Pages> contents = nullptr);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Runs to the end, every write written out. `progress` gets the share of operations done, now
  // and then; returning false stops the run. Throws StuckError, trace::TraceError, and
  // InternalError if the statistics contradict each other. False if stopped.
  bool run(const std::function<bool(double)>& progress);

  Time now() const { return queue_.now(); }
  // When the last core was done (write-out not included).
  Time end() const;
  std::uint32_t cores_used() const { return cores_used_; }
  const std::vector<std::unique_ptr<Core>>& cores() const { return cores_; }
  const Memory& pm() const { return pm_; }
  const Memory& dram() const { return dram_; }
  const PmSpace& pm_space() const { return pm_space_; }
  const Design& design() const { return design_; }
  const Synchronisation& synchronisation() const { return synchronisation_; }
  // Before run(), for who judges what a crash leaves: PM holds what the program finds there as the
  // backend would have written it. Times are the same without.
  void format() { design_.format(pm_.device()); }
  // Before run(), if only times matter.
  void leave_unsealed() { design_.leave_unsealed(); }
  // Before run(): whom to tell of every change of what would survive a crash.
  void observe(PersistenceObserver* observer) { pm_.observe(observer); }
  // ... and of what the program does, and is promised.
  void observe(ProgramObserver* observer) { program_events_.observe(observer); }
  // ... and of what becomes of hints, and how long writes wait for the backend's operations.
  void observe(HintObserver* hints, WriteObserver* writes) { design_.observe(hints, writes); }
  std::uint64_t events() const { return queue_.executed(); }
  void describe_statistics(StatisticsCollector& collector) const;
  // What programs would read from `begin` to below `end`, and perhaps beyond, if power were lost
  // now: what persistent caches hold, else what the device does, without what operations of the
  // backend have made of it.
  Image image(std::uint64_t begin, std::uint64_t end) const;

 private:
  void check_statistics() const;
  void warm_caches();
  std::uint64_t address_offset(std::uint32_t instance) const;
  bool run_events(const std::function<bool()>& report, const std::function<std::uint64_t()>& done);
  void run_drain();
  // Names what waits.
  [[noreturn]] void report_stuck(std::string_view what) const;
  std::uint64_t operations_of_trace() const;
  std::uint64_t operations_read() const;

  const Configuration configuration_;
  const trace::TraceFile& trace_;
  const trace::Races races_;
  const std::uint32_t cores_used_;
  EventQueue queue_;
  PmSpace pm_space_;
  ProgramEvents program_events_;
  Clock clock_;
  Memory dram_, pm_;
  Design design_;
  Synchronisation synchronisation_;
  Hierarchy hierarchy_;
  SpeculativeStores speculative_stores_{pm_space_.newest()};
  Threads threads_;
  std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace pmemsim
