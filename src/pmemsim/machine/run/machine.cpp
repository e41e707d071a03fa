#include "pmemsim/machine/run/machine.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/combination.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/run/host_memory.hpp"
#include "pmemsim/trace/initial_state.hpp"

namespace pmemsim {
namespace {

// The longest simulated time. An event is scheduled at most this time ahead of the present, and
// twice this time fits in 64 bits.
constexpr Time kLongestTime{4'000'000'000'000'000'000};

[[noreturn]] void refuse_time() {
  throw Error(
      "the simulated time exceeds 4,000,000 s (46 days); choose smaller latencies (those with s or "
      "ms as unit), smaller factors of latencies, or a shorter run");
}

std::uint32_t cores_needed(const Configuration& configuration, const trace::TraceFile& trace) {
  const std::uint32_t threads = trace.metadata().threads * configuration.run.instances;
  if (threads == 0) {
    throw trace::TraceError(trace.path() + ": no thread was recorded; record the program again");
  }
  return threads;
}

std::string objects_problem(const Configuration& configuration, const trace::TraceFile& trace) {
  const std::uint32_t objects = trace.metadata().sync_objects;
  const std::uint32_t instances = configuration.run.instances;
  if (std::uint64_t{objects} * instances <= trace::kMaxSyncObjects) return {};
  return trace.path() + ": " + std::to_string(objects) +
         " locks and atomic variables, run.instances=" + std::to_string(instances) +
         " times, are more than " + std::to_string(trace::kMaxSyncObjects) +
         "; run fewer instances";
}

std::string design_problem(const Configuration& configuration, const trace::TraceFile& trace) {
  Blueprint blueprint = configuration.blueprint();
  blueprint.threads = cores_needed(configuration, trace);
  blueprint.log = trace.metadata().log();
  const std::vector<std::string> problems = combination_problems(blueprint);
  return problems.empty() ? "" : problems.front();
}

}  // namespace

std::string fit_problem(const Configuration& configuration, const trace::TraceFile& trace) {
  const std::uint32_t threads = cores_needed(configuration, trace);
  if (threads <= configuration.core.count) {
    const std::string problem = design_problem(configuration, trace);
    return problem.empty() ? objects_problem(configuration, trace) : problem;
  }
  const std::string remedy =
      threads <= CoreParameters::kMostCores
          ? "choose core.count=" + std::to_string(threads) + " or record with fewer threads"
          : "run fewer instances or record with fewer threads, since a machine has at most " +
                std::to_string(CoreParameters::kMostCores) + " cores";
  return trace.path() + ": " + std::to_string(threads) +
         " threads (run.instances=" + std::to_string(configuration.run.instances) + ", each of " +
         std::to_string(trace.metadata().threads) +
         ") don't fit on core.count=" + std::to_string(configuration.core.count) + " cores; " +
         remedy;
}

namespace {

std::uint32_t cores_that_fit(const Configuration& configuration, const trace::TraceFile& trace) {
  if (const std::string problem = fit_problem(configuration, trace); !problem.empty()) {
    throw ConfigError({problem});
  }
  return cores_needed(configuration, trace);
}

// Returns the shared cache of the whole machine, although only cores that run a thread have private
// caches.
SharedCacheParameters shared_cache(const Configuration& configuration) {
  SharedCacheParameters shared = configuration.shared;
  shared.size = {shared.bytes(configuration.core.count)};
  shared.size_per_core = {0};
  return shared;
}

// Returns the parameters of one logical processor. Threads fill all logical processors of a
// physical core first, and share its resources.
CoreParameters logical_processor(const Configuration& configuration,
                                 const trace::TraceFile& trace) {
  const CoreParameters& core = configuration.core;
  return core.shared_by(std::min(core.threads_per_core, cores_needed(configuration, trace)));
}

Hierarchy::CoreBuffers buffers_of(const CoreParameters& core) {
  return {.write_combining = core.write_combining_buffers, .flushes = core.most_flushes()};
}

}  // namespace

std::shared_ptr<const Image::Pages> load_contents(const trace::TraceFile& trace) {
  static_assert(trace::kImagePageBytes == Image::kPageBytes);
  check_host_memory(trace, 1);
  auto pages = std::make_shared<Image::Pages>();
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    std::unique_ptr<Image::Page>& page = (*pages)[address / Image::kPageBytes];
    if (page == nullptr) page = std::make_unique<Image::Page>();
    std::ranges::copy(bytes, page->begin());
  });
  return pages;
}

Machine::Machine(const Configuration& configuration, const trace::TraceFile& trace,
                 std::shared_ptr<const Image::Pages> contents)
    : configuration_(configuration),
      trace_(trace),
      races_(configuration.run.lock_order == LockOrder::kRecorded ? trace::Races(trace)
                                                                  : trace::Races()),
      cores_used_(cores_that_fit(configuration, trace)),
      commit_latencies_(queue_, cores_used_),
      clock_(configuration.core.frequency, configuration.core.width),
      decoded_(trace.sites(), clock_, clock_.slots(configuration.core.division_latency)),
      dram_(queue_, configuration.dram, Contents::kNotKept,
            PageFrames(configuration.pages.placement)),
      pm_(queue_, configuration.pm, Contents::kKept, PageFrames(configuration.pages.placement)),
      design_(configuration.blueprint(), queue_, pm_),
      synchronisation_(
          (trace.metadata().sync_objects + trace.metadata().threads) * configuration.run.instances,
          configuration.run.lock_order),
      hierarchy_({queue_, pm_space_, dram_, pm_, design_}, clock_, cores_used_, configuration.l1,
                 configuration.l2, shared_cache(configuration), configuration.path,
                 buffers_of(logical_processor(configuration, trace)),
                 PageFrames(configuration.pages.placement)) {
  // A design without a durability guarantee never reports regions as durable. Measuring would keep
  // the ends of all regions in memory.
  if (design_.promises().regions != RegionPromise::kNone || design_.commits_synchronously()) {
    program_events_.measure(&commit_latencies_);
  }
  design_.connect(queue_, clock_, hierarchy_, dram_, pm_space_, program_events_, threads_);
  for (std::uint32_t instance = 0; instance < configuration.run.instances; ++instance) {
    for (const trace::PmRegion& region : trace.metadata().pm_regions) {
      pm_space_.add(
          {region.begin + address_offset(instance), region.end + address_offset(instance)});
    }
  }
  if (contents == nullptr) contents = load_contents(trace);
  pm_space_.newest() = Image(contents, configuration.run.instances, address_offset(1));
  pm_.device() = Image(std::move(contents), configuration.run.instances, address_offset(1));
  const Core::Parts parts{queue_,  hierarchy_,      pm_space_,          synchronisation_,
                          design_, program_events_, speculative_stores_};
  for (CoreId core = 0; core < cores_used_; ++core) {
    cores_.push_back(std::make_unique<Core>(parts, clock_, logical_processor(configuration, trace),
                                            configuration.tlb, configuration.prefetch, core,
                                            configuration.run.lock_order));
    threads_.add(*cores_.back());
  }
  warm_caches();
  const std::uint32_t threads = trace.metadata().threads;
  for (CoreId core = 0; core < cores_used_; ++core) {
    const std::uint32_t instance = core / threads;
    cores_[core]->run(
        trace, decoded_, races_, core % threads,
        {address_offset(instance), instance * trace.metadata().sync_objects},
        trace.metadata().sync_objects * configuration_.run.instances + instance * threads);
  }
}

void Machine::format() { design_.backend().parts().format(pm_.device()); }

void Machine::skip_sealing() { design_.backend().parts().skip_sealing(); }

void Machine::profile(TimeProfile& profile) {
  pm_.profile(&profile.pm());
  dram_.profile(&profile.dram());
  design_.backend().profile(&profile.pm());
  for (const auto& core : cores_) {
    core->profile(profile, logical_processor(configuration_, trace_), cores_used_ == 1);
  }
}

// Returns the address offset of a copy of the program. Copies differ only in address bits that no
// user-space address has. If pages.placement puts pages at their virtual addresses, the pages of
// all copies are therefore in the same banks and sets.
std::uint64_t Machine::address_offset(std::uint32_t instance) const {
  return instance * trace::kMaxAddress;
}

void Machine::log_stages(StageLog* stages) {
  pm_.log_stages(stages);
  design_.backend().log_stages(stages);
  program_events_.log_stages(stages);
}

void Machine::warm_caches() {
  const std::uint32_t threads = trace_.metadata().threads;
  std::vector<Hierarchy::Touch> touches;
  trace::for_each_warm_line(trace_, [&](const trace::WarmLine& warm) {
    for (std::uint32_t i = 0; i < configuration_.run.instances; ++i) {
      touches.push_back({i * threads + warm.thread, Line::of(warm.line + address_offset(i))});
    }
  });
  hierarchy_.warm(touches);
}

std::uint64_t Machine::operations_of_trace() const {
  std::uint64_t total = 0;
  for (std::uint32_t thread = 0; thread < trace_.metadata().threads; ++thread) {
    total += trace_.operations(thread) * configuration_.run.instances;
  }
  return total;
}

std::uint64_t Machine::operations_read() const {
  std::uint64_t read = 0;
  for (const auto& core : cores_) read += core->operations_read();
  return read;
}

// Executes all events. Returns false if `report` returned false. `done` counts finished work, to
// detect a lack of progress.
bool Machine::run_events(const std::function<bool()>& report,
                         const std::function<std::uint64_t()>& done) {
  constexpr std::uint64_t kEventsBetweenReports = 1u << 16;
  // The time of this number of reports is 67 million events, which take seconds. An operation of a
  // program or a write of a line takes at most thousands of events, unless a component polls at an
  // interval much shorter than a latency.
  constexpr std::uint64_t kMostReportsWithoutProgress = 1u << 10;
  std::uint64_t until_report = kEventsBetweenReports;
  std::uint64_t without_progress = 0;
  std::uint64_t last = 0;
  while (queue_.step()) {
    if (queue_.now() > kLongestTime) [[unlikely]]
      refuse_time();
    if (--until_report > 0) continue;
    until_report = kEventsBetweenReports;
    if (!report()) return false;
    without_progress = done() == last ? without_progress + 1 : 0;
    last = done();
    if (without_progress == kMostReportsWithoutProgress) report_stuck("makes no progress");
  }
  return true;
}

// Executes the remaining events after all programs have ended.
void Machine::run_drain() {
  run_events([] { return true; }, [this] { return pm_.statistics().all_lines_written(); });
}

bool Machine::run(const std::function<bool(double)>& progress) {
  const double total = static_cast<double>(operations_of_trace());
  const auto report = [&] {
    const double share = total == 0 ? 1 : static_cast<double>(operations_read()) / total;
    return !progress || progress(share);
  };
  if (!run_events(report, [this] { return operations_read(); })) return false;
  const bool all_finished =
      std::all_of(cores_.begin(), cores_.end(), [](const auto& core) { return core->finished(); });
  if (!all_finished || hierarchy_.pending_misses() > 0 || !design_.pending().empty()) {
    report_stuck("is deadlocked");
  }
  design_.drain();
  run_drain();
  Time before{};
  do {  // the backend may cause further writes when a line has been written
    before = queue_.now();
    pm_.drain();
    dram_.drain();
    run_drain();
  } while (queue_.now() > before);
  if (!pm_.idle() || !dram_.idle() || !design_.pending().empty()) {
    report_stuck("is deadlocked");
  }
  check_statistics();
  if (progress) progress(1);
  return true;
}

void Machine::report_stuck(std::string_view what) const {
  std::string text = "the simulation " + std::string(what) + " at " +
                     std::to_string(queue_.now().count) + " ps although work is pending";
  for (const auto& core : cores_) {
    if (!core->finished()) text += "; " + core->waiting_for();
  }
  if (const std::string pending = design_.pending(); !pending.empty()) text += "; " + pending;
  if (hierarchy_.pending_misses() > 0) {
    text += "; " + std::to_string(hierarchy_.pending_misses()) + " lines in flight from memory";
  }
  for (const auto& [name, memory] : {std::pair{"pm", &pm_}, {"dram", &dram_}}) {
    if (!memory->idle()) text += std::string("; ") + name + ": " + memory->describe_pending();
  }
  if (configuration_.run.lock_order == LockOrder::kSimulated) {
    throw StuckError(text +
                     "; the order in which this machine grants locks contradicts the recorded "
                     "order of atomic variables or signals: use run.lock_order=recorded");
  }
  std::string remedy = design_.remedy();
  if (remedy.empty()) {
    remedy = loaded_plugins().empty() ? "please report this with the trace"
                                      : "if a plug-in implements the design, check first that "
                                        "each call that returns false calls resume later";
  }
  throw StuckError(text + "; " + remedy);
}

// Copies the surviving contents. Pages that were never stored to are all zero.
Image Machine::image(std::uint64_t begin, std::uint64_t end) const {
  const bool caches_persist = design_.promises().caches_persist;
  Image image;
  pm_space_.newest().for_each_page([&](std::uint64_t address, const std::byte*) {
    if (address + Image::kPageBytes <= begin || address >= end) return;
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(address + at);
      image.write(
          line, caches_persist ? pm_space_.newest().read(line) : design_.backend().surviving(line));
    }
  });
  return image;
}

Time Machine::end() const {
  Time end{};
  for (const auto& core : cores_) end = max(end, core->end());
  return end;
}

}  // namespace pmemsim
