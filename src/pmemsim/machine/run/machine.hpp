// A machine with a design: all connected components, and the loop that runs them.
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

// Returns the reason why the trace can't run on this machine; empty if it can. Every thread needs a
// core, and every lock needs a synchronisation object.
std::string fit_problem(const Configuration& configuration, const trace::TraceFile& trace);

// Loads the contents of persistent memory at the begin of the trace. Any number of machines can
// share the contents. Throws Error if this computer has too little memory for them, and
// trace::TraceError.
std::shared_ptr<const Image::Pages> load_contents(const trace::TraceFile& trace);

class Machine {
 public:
  // Number of images of persistent memory for each instance: the newest contents and the device's
  // contents.
  static constexpr std::uint64_t kCopies = 2;

  // Constructs a machine with the trace's `contents`, which are loaded if none are given. Throws
  // ConfigError if the trace doesn't fit the machine (more threads than cores), and
  // trace::TraceError.
  Machine(const Configuration& configuration, const trace::TraceFile& trace,
          std::shared_ptr<const Image::Pages> contents = nullptr);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Runs to the end, until every write has been written out. `progress` is called now and then with
  // the share of operations done; if it returns false, the run stops and run() returns false.
  // Throws StuckError, trace::TraceError, and InternalError if the statistics contradict each
  // other.
  bool run(const std::function<bool(double)>& progress);

  Time now() const { return queue_.now(); }
  // Returns the time at which the last core ended, without the final write-out.
  Time end() const;
  std::uint32_t cores_used() const { return cores_used_; }
  const std::vector<std::unique_ptr<Core>>& cores() const { return cores_; }
  const Memory& pm() const { return pm_; }
  const Memory& dram() const { return dram_; }
  const PmSpace& pm_space() const { return pm_space_; }
  const Design& design() const { return design_; }
  const Latencies& commit_latencies() const { return commit_latencies_.latencies(); }
  const Synchronisation& synchronisation() const { return synchronisation_; }
  // Prepares PM before run(), for callers that check crash images. The device then holds the
  // program's initial contents as the backend would have written them. Times do not depend on this
  // call.
  void format();
  // Skips encryption and hashing of PM contents, for callers that need only times. Call it before
  // run().
  void skip_sealing();
  // Registers an observer of every change of the contents that would survive a crash. Call it
  // before run().
  void observe(PersistenceObserver* observer) { pm_.observe(observer); }
  // Registers an observer of the program's actions and of its durability guarantees. Call it before
  // run().
  void observe(ProgramObserver* observer) { program_events_.observe(observer); }
  // Registers observers of the fate of hints, and of the time that writes wait for the backend's
  // operations. Call it before run().
  void observe(HintObserver* hints, WriteObserver* writes) { design_.observe(hints, writes); }
  // Logs the stages of regions, fences and writes. Call it before run().
  void log_stages(StageLog* stages);
  const EventQueue& queue() const { return queue_; }
  // Charges the cores' time to lines of the program. Call it before run(); the profile must outlive
  // the machine.
  void profile(TimeProfile& profile);
  std::uint64_t events() const { return queue_.executed(); }
  void describe_statistics(StatisticsCollector& collector) const;
  // Returns the contents that programs would read after a power failure now. The range is from
  // `begin` to below `end`, and perhaps larger. These are the contents of the caches if they are
  // persistent, otherwise those of the device. Operations of the backend, such as encryption, are
  // undone.
  Image image(std::uint64_t begin, std::uint64_t end) const;

 private:
  void check_statistics() const;
  void warm_caches();
  std::uint64_t address_offset(std::uint32_t instance) const;
  bool run_events(const std::function<bool()>& report, const std::function<std::uint64_t()>& done);
  void run_drain();
  // Throws StuckError with a description of every waiting component.
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
  CommitLatencies commit_latencies_;
  Clock clock_;
  const DecodedSites decoded_;
  Memory dram_, pm_;
  Design design_;
  Synchronisation synchronisation_;
  Hierarchy hierarchy_;
  SpeculativeStores speculative_stores_{pm_space_.newest()};
  RunningThreads threads_;
  std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace pmemsim
