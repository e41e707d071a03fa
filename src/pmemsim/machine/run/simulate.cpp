#include "pmemsim/machine/run/simulate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "pmemsim/common/image_file.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/run/host_memory.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/machine/run/run_energy.hpp"

namespace pmemsim {
namespace {

// Returns the sum of all cores' statistics.
CoreStatistics sum(const std::vector<std::unique_ptr<Core>>& cores) {
  CoreStatistics total;
  for (const auto& core : cores) total += core->statistics();
  return total;
}

constexpr std::array kMisses{Cause::kPrivateCache, Cause::kSharedCache, Cause::kOtherCore,
                             Cause::kDram, Cause::kPm};

void describe_stall(Cause cause, Picoseconds time, StatisticsCollector& collector) {
  const CauseText& text = kCauseTexts[static_cast<std::size_t>(cause)];
  const std::string name = "stall." + std::string(text.name) + "_ns";
  const std::string description = "Time of all cores: " + std::string(text.description);
  if (std::ranges::find(kMisses, cause) == kMisses.end()) {
    collector(name, time, description, share_of("stall.total_ns"));
  } else {
    collector(name, time, description, share_of("stall.total_ns"), share_of("stall.cache_miss_ns"));
  }
}

// Publishes the distribution of the cores' time over causes, summed over the cores.
void describe_stalls(const Machine& machine, StatisticsCollector& collector) {
  CycleAccount account;
  for (const auto& core : machine.cores()) account += core->account();
  const Clock& clock = machine.cores().front()->clock();
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    describe_stall(cause, clock.duration(account[cause]), collector);
  }
  Slot misses = 0;
  for (const Cause cause : kMisses) misses += account[cause];
  collector("stall.cache_miss_ns", clock.duration(misses),
            "Time of all cores: loads that missed in the L1, wherever they were served");
  collector("stall.total_ns", clock.duration(account.total()),
            "Time of all cores from the start to each core's end: the sum of all causes");
}

// Returns the distribution of one core's time over causes.
std::vector<Statistic> stalls_of(const Core& core) {
  std::vector<Statistic> stalls;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const CauseText& text = kCauseTexts[i];
    const Picoseconds time = core.clock().duration(core.account()[static_cast<Cause>(i)]);
    stalls.push_back({.name = "stall." + std::string(text.name) + "_ns",
                      .value = static_cast<double>(time.count) / 1000,
                      .unit = "ns",
                      .description = std::string(text.description),
                      .place = {}});
  }
  return stalls;
}

// Percentiles of all cores together: those of single cores don't add up to them.
void describe_latencies(const Latencies& regions, const Latencies& commits,
                        StatisticsCollector& collector) {
  collector("core.region_latency_p50_ns", regions.percentile(500),
            "Half of the regions took at most this long from begin to end, within 3%",
            at_most("run.drained_ns"));
  collector("core.region_latency_p99_ns", regions.percentile(990),
            "99% of the regions took at most this long from begin to end, within 3%",
            at_most("run.drained_ns"));
  collector("core.region_latency_p999_ns", regions.percentile(999),
            "99.9% of the regions took at most this long from begin to end, within 3%",
            at_most("run.drained_ns"));
  collector("core.commit_latency_p50_ns", commits.percentile(500),
            "Half of the regions were durable at most this long after their end, within 3%",
            at_most("run.drained_ns"));
  collector("core.commit_latency_p99_ns", commits.percentile(990),
            "99% of the regions were durable at most this long after their end, within 3%",
            at_most("run.drained_ns"));
  collector("core.commit_latency_p999_ns", commits.percentile(999),
            "99.9% of the regions were durable at most this long after their end, within 3%",
            at_most("run.drained_ns"));
}

// Declares the times that limit other statistics: the time until each core's end, until the last
// core's end, and until all writes have finished. Cores compute ahead, so that a core's end may be
// later than all events.
void describe_times(const Machine& machine, StatisticsCollector& collector) {
  collector.quantity("run.time_ns", machine.end().since_start(), part_of("run.drained_ns"));
  collector.quantity("run.drained_ns", max(machine.now(), machine.end()).since_start());
  Picoseconds all{}, first_halves{};
  for (const auto& core : machine.cores()) {
    all += core->end().since_start();
    first_halves += core->end_of_first_half().since_start();
  }
  collector.quantity("core.time_ns", all, at_most("run.time_ns").times(machine.cores().size()));
  collector("core.first_half_ns", first_halves,
            "Time of all cores from the start until each has read half of its operations",
            part_of("core.time_ns"));
}

}  // namespace

void Machine::describe_statistics(StatisticsCollector& collector) const {
  describe_times(*this, collector);
  const CoreStatistics cores = sum(cores_);
  collector.group("core", cores);
  describe_latencies(cores.region_latencies, commit_latencies_.latencies(), collector);
  describe_stalls(*this, collector);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    const std::string name = "core" + std::to_string(i);
    collector.share(name, cores_[i]->statistics(), "core");
    collector.quantity(name + ".time_ns", cores_[i]->end().since_start(), part_of("run.time_ns"),
                       share_of("stall.total_ns", "core"));
  }
  collector.group("shared", hierarchy_.statistics());
  collector.group("pm", pm_.statistics());
  collector.group("dram", dram_.statistics());
  design_.statistics(collector);
  if (!configuration_.design.operations().empty()) {
    const Picoseconds core_time = end().since_start() * cores_used_;
    const EnergyBill bill(configuration_.energy, collector.found, core_time);
    collector.group("energy", energy_of(bill, configuration_.blueprint()));
  }
  collector("events", queue_.executed(), "events", "Events executed by the simulation");
}

void Machine::check_statistics() const {
  StatisticsCollector collector(StatisticsCollector::Publishes::kNone);
  describe_statistics(collector);
  collector.check();
}

void check_fit(const trace::TraceFile& trace, const Configuration& configuration) {
  if (const std::string problem = fit_problem(configuration, trace); !problem.empty()) {
    throw_problem(configuration, problem);
  }
}

RunResult simulate(const trace::TraceFile& trace, const Configuration& configuration,
                   const std::function<bool(double)>& progress, std::span<const std::string> images,
                   const std::shared_ptr<const Image::Pages>& contents) {
  check_fit(trace, configuration);
  const std::uint64_t images_kept = images.empty() ? 0 : 1;
  check_host_memory(trace, Machine::kCopies * configuration.run.instances + images_kept);
  const auto start = std::chrono::steady_clock::now();
  Machine machine(configuration, trace, contents);
  machine.skip_sealing();
  if (!machine.run(progress)) throw Interrupted("the simulation was interrupted");
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const trace::PmRegion& region = trace.metadata().pm_regions.at(i);
    write_image(machine.image(region.begin, region.end), region.begin, region.end, images[i]);
  }

  return result_of(machine, wall.count());
}

RunResult result_of(const Machine& machine, double wall_s) {
  RunResult result;
  const CoreStatistics cores = sum(machine.cores());
  result.instructions = cores.instructions;
  result.regions = cores.regions;
  result.pm_write_bytes = machine.pm().statistics().all_lines_written() * kLineBytes;
  result.time = machine.end().since_start();
  result.threads = machine.cores_used();
  result.wall_s = wall_s;
  StatisticsCollector collector;
  machine.describe_statistics(collector);
  result.statistics = std::move(collector.found);
  for (const auto& core : machine.cores()) result.stalls.push_back(stalls_of(*core));
  result.region_latencies = cores.region_latencies.buckets();
  result.commit_latencies = machine.commit_latencies().buckets();
  result.relations = collector.relations();
  return result;
}

}  // namespace pmemsim
