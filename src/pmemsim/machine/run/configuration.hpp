// The complete configuration: the machine, the design's four layers, the run. One describe()
// declares all parameters; parsing, output and documentation use it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/common/energy.hpp"
#include "pmemsim/common/page_placement.hpp"
#include "pmemsim/common/parameters.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"
#include "pmemsim/machine/cache/cache_parameters.hpp"
#include "pmemsim/machine/cache/stream_prefetcher.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"
#include "pmemsim/machine/cpu/tlb.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {

struct RunParameters {
  std::uint32_t instances = 1;
  LockOrder lock_order = LockOrder::kRecorded;
  bool hand_placed_flushes = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("instances", instances, {.least = 1, .most = 64},
          "Number of independent copies of the recording, each on its own cores and addresses");
    visit("lock_order", lock_order, {},
          "Order of lock acquisitions. recorded: as in the recording, so that all values of the "
          "trace are valid; simulated: by simulated time, so that they may not be");
    visit(
        "hand_placed_flushes", hand_placed_flushes, {},
        "Whether only the flushes of a region's data take time, as if the program listed the lines "
        "itself, and not pm.h's code that tracks them");
  }
};

struct Configuration {
  std::vector<Setting> settings;  // the settings from which it was made

  DesignConfiguration design{choices()};
  RunParameters run;
  CoreParameters core;
  PageParameters pages;
  TlbParameters tlb;
  PrefetchParameters prefetch;
  CacheParameters l1{
      .size = {32u << 10}, .ways = 8, .latency = cycles(4), .tag_latency = cycles(4)};
  CacheParameters l2{
      .size = {1u << 20}, .ways = 16, .latency = cycles(14), .tag_latency = cycles(14)};
  SharedCacheParameters shared;
  PathParameters path;
  MemoryParameters dram;
  MemoryParameters pm;
  EnergyParameters energy;
  FaultSet faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    design.describe_choices(visit);
    visit.group("run", run);
    visit.group("core", core);
    visit.group("pages", pages);
    visit.group("tlb", tlb);
    visit.group("prefetch", prefetch);
    visit.group("l1", l1);
    visit.group("l2", l2);
    visit.group("shared", shared);
    visit.group("path", path);
    visit.group("dram", dram);
    visit.group("pm", pm);
    visit.group("energy", energy);
    design.describe_parameters(visit);
    FaultLister lister(faults);
    describe_faults(lister);
    visit.faults(faults);
    FaultInjector injector(faults);
    describe_faults(injector);
  }
  void describe_faults(FaultVisitor& visit) {
    visit.group("core", core.faults);
    visit.group("shared", shared.faults);
    visit.group("pm", pm.faults);  // the contents of DRAM do not matter to a crash
    design.describe_faults(visit);
  }

  // Returns the input from which the design is built.
  Blueprint blueprint() const;
};

// Applies the settings to the defaults. Throws ConfigError with every problem at once. `table` must
// outlive the configuration.
Configuration configure(std::span<const Setting> settings, const ChoiceTable& table = choices());

// Throws ConfigError with the problems of single settings. Use it for settings that are not a
// complete configuration, so that combinations can't be checked.
void check_values(std::span<const Setting> settings);

// Throws ConfigError with this sentence about a problem of the configuration. The message also
// gives the locations of the settings of the parameters that the sentence names.
void throw_problem(const Configuration& configuration, const std::string& sentence);

// Returns every fault that can be injected.
std::vector<Fault> declared_faults();

// Returns every parameter with its value in this configuration, and the location of the setting
// that gave the value.
std::vector<ParameterInfo> parameters(Configuration configuration);

}  // namespace pmemsim
