#include "pmemsim/machine/run/configuration.hpp"

#include <algorithm>
#include <string>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/designs/combination.hpp"

namespace pmemsim {
namespace {

// Limit of the machine's caches. pmemsim takes about half as much host memory for them.
constexpr std::uint64_t kMostCacheBytes = std::uint64_t{1} << 34;

void check_cache(ParameterSetter& setter, const std::string& size_key, std::uint64_t bytes,
                 const std::string& ways_key, std::uint32_t ways) {
  if (const auto problem = cache_geometry_problem(size_key, bytes, ways_key, ways);
      !problem.empty()) {
    setter.add_problem(problem);
  }
}

void check_tlb(ParameterSetter& setter, const TlbParameters& tlb) {
  const auto check = [&](const std::string& level, std::uint32_t entries, std::uint32_t ways) {
    if (entries % ways == 0) return;
    setter.add_problem("tlb." + level + "entries: " + std::to_string(entries) +
                       " entries can't be divided into " + std::to_string(ways) + " ways (tlb." +
                       level + "ways); choose a multiple of " + std::to_string(ways));
  };
  check("", tlb.entries, tlb.ways);
  check("second_", tlb.second_entries, tlb.second_ways);
  if (tlb.entries == 0 && tlb.second_entries > 0) {
    setter.add_problem(
        "tlb.second_entries: a second TLB requires a first one; choose tlb.entries above 0");
  }
}

}  // namespace

Blueprint Configuration::blueprint() const {
  const std::uint64_t private_bytes = l1.size.count + l2.size.count;
  const std::uint64_t shared_bytes =
      shared.size_per_core.count > 0 ? shared.size_per_core.count * core.count : shared.size.count;
  return {.design = design,
          .cores = core.count,
          .pm = pm,
          .hand_placed_flushes = run.hand_placed_flushes,
          .l1_lines = l1.size.count / kLineBytes,
          .cache_lines = (private_bytes * core.count + shared_bytes) / kLineBytes};
}

void check_values(std::span<const Setting> settings) {
  Configuration configuration;
  ParameterSetter setter(settings);
  configuration.describe(setter);
  setter.throw_problems();
}

Configuration configure(std::span<const Setting> settings, const ChoiceTable& table) {
  Configuration configuration;
  configuration.settings.assign(settings.begin(), settings.end());
  configuration.design = DesignConfiguration(table);
  ParameterSetter setter(settings);
  configuration.describe(setter);

  // Slots of a clock with such a frequency convert to picoseconds exactly for minutes of simulated
  // time.
  constexpr std::uint64_t kFrequencyStep = 100'000;
  if (configuration.core.frequency.count % kFrequencyStep != 0) {
    setter.add_problem("core.frequency: " + format_value(configuration.core.frequency) +
                       " is not a multiple of 100kHz; round it");
  }
  check_tlb(setter, configuration.tlb);
  check_cache(setter, "l1.size", configuration.l1.size.count, "l1.ways", configuration.l1.ways);
  if (configuration.l1.size.count == 0) {
    setter.add_problem("l1.size: every core needs an L1; choose at least 64B per way");
  }
  check_cache(setter, "l2.size", configuration.l2.size.count, "l2.ways", configuration.l2.ways);
  const std::uint64_t shared = configuration.shared.bytes(configuration.core.count);
  check_cache(setter, "shared.size + shared.size_per_core * core.count", shared, "shared.ways",
              configuration.shared.ways);
  const std::uint64_t all_caches =
      shared +
      (configuration.l1.size.count + configuration.l2.size.count) * configuration.core.count;
  if (all_caches > kMostCacheBytes) {
    setter.add_problem(
        "shared.size + (shared.size_per_core + l1.size + l2.size) * core.count: caches of " +
        std::to_string(all_caches) + " bytes; at most " + std::to_string(kMostCacheBytes) +
        " can be simulated");
  }
  const bool has_l2 = configuration.l2.size.count > 0;
  const std::uint64_t inner = (has_l2 ? configuration.l2 : configuration.l1).size.count;
  if (shared < inner) {
    setter.add_problem("shared.size + shared.size_per_core * core.count: the shared cache (" +
                       std::to_string(shared) + " bytes) includes the private ones, so it can't " +
                       "be smaller than " + (has_l2 ? "l2.size" : "l1.size") + " (" +
                       std::to_string(inner) + " bytes)");
  }
  for (const std::string& problem : configuration.dram.problems()) {
    setter.add_problem(problem, "dram");
  }
  for (const std::string& problem : configuration.pm.problems()) setter.add_problem(problem, "pm");
  for (const std::string& problem : combination_problems(configuration.blueprint())) {
    setter.add_problem(problem);
  }
  setter.throw_problems();
  return configuration;
}

void throw_problem(const Configuration& configuration, const std::string& sentence) {
  ParameterSetter setter(configuration.settings);
  Configuration(configuration).describe(setter);
  setter.add_problem(sentence);
  setter.throw_problems();
}

std::vector<Fault> declared_faults() {
  Configuration configuration;
  FaultLister lister(configuration.faults);
  configuration.describe_faults(lister);
  const std::span<const Fault> declared = configuration.faults.declared();
  return {declared.begin(), declared.end()};
}

std::vector<ParameterInfo> parameters(Configuration configuration) {
  ParameterLister lister;
  configuration.describe(lister);
  for (ParameterInfo& parameter : lister.found) {
    for (const Setting& setting : configuration.settings) {
      if (setting.key == parameter.key) parameter.place = setting.place;
    }
  }
  return std::move(lister.found);
}

}  // namespace pmemsim
