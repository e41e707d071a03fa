// A hardware log on a workbench: between real caches and real memory of two banks that take 300 ns
// for a write; controller and bus take none.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "pmemsim/atomicity/hw_redo.hpp"
#include "pmemsim/backend/backend.hpp"
#include "pmemsim/ordering/x86.hpp"
#include "pmemsim/recovery/redo_log.hpp"
#include "pmemsim/registry.hpp"
#include "unit/crash_plug.hpp"
#include "unit/memory_bench.hpp"

namespace pmemsim {

using Counters = std::vector<std::uint32_t>;
using Lines = std::vector<Line>;

// Pages of 64 lines alternate between the banks, and the log begins in bank 0.
inline const Line kBank0 = Line::of(kPmBase), kBank1{kBank0.number + 64};
inline constexpr Line kLog{kLogBase / kLineBytes};

inline Configuration two_banks(const std::vector<KeyValue>& more) {
  return configure(settings({{"core.count", "1"},
                             {"atomicity", "hw-redo"},
                             {"pm.ranks", "1"},
                             {"pm.banks_per_rank", "2"},
                             {"pm.device", "fixed"},
                             {"pm.write_latency", "300ns"},
                             {"pm.tburst", "0ns"},
                             {"pm.front_latency", "0ns"},
                             {"pm.wpq_entries", "16"},
                             {"pm.log_queue_entries", "32"},
                             {"log.header_entries", "0"},
                             {"log.free_entries", "16"},
                             {"log.free_headers", "16"}},
                            more));
}

// Everything but the design.
struct Platform {
  Platform(const Configuration& configuration, Atomicity& atomicity)
      : clock(configuration.core.frequency, configuration.core.width),
        dram(queue, configuration.dram),
        pm(queue, configuration.pm),
        backend(pm),
        ordering(1, {}),
        caches({queue, pm_space, backend, dram, ordering, atomicity}, clock, 1, configuration.l1,
               configuration.l2, configuration.shared, configuration.path) {
    pm_space.add({kPmBase, kPmBase + (1 << 20)});
  }
  LayerContext context() { return {queue, caches, backend, pm, dram, pm_space, program_events}; }

  // Runs until `reached`, as it must be some time.
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
  Picoseconds now() const { return queue.now(); }
  Picoseconds way_down() const { return caches.way_down(0); }

  Counters counters() const {
    return {pm.pending_operations().begin(), pm.pending_operations().end()};
  }
  // Whether a write is in the controller that no bank has taken yet.
  bool queued(Line line, WriteKind kind) const {
    WriteId id;
    return pm.find(line, kind, id);
  }
  LineData in_pm(Line line) const { return pm.device().read(line); }
  // Entries of the ADR buffer that headers have, while no data are there.
  std::uint32_t adr_entries(std::uint32_t all) const {
    std::uint32_t free = 0;
    while (pm.can_reserve(0, free + 1)) ++free;
    return all - 1 - free;
  }

  EventQueue queue;
  PmSpace pm_space;
  const ProgramEvents program_events;
  Clock clock;
  Memory dram, pm;
  NoBackend backend;
  X86Ordering ordering;
  Hierarchy caches;
};

// One core's transactions on a redo log.
class RedoBench {
 public:
  RedoBench(std::initializer_list<KeyValue> more = {})
      : configuration_(two_banks(more)),
        atomicity_(make_atomicity(configuration_)),
        platform(configuration_, *atomicity_),
        redo(dynamic_cast<HwRedo&>(*atomicity_)) {
    redo.connect(platform.context());
  }

  // TxBegin, and stores to these lines.
  void begin(std::uint64_t region, const Lines& lines) {
    EXPECT_TRUE(redo.region_begin(0, region, platform.now(), {}));
    for (const Line line : lines) {
      const LineData value = data_of(region);
      const Store store{0, 0, line.address(), 8, value.data(), platform.pm_space.newest(), region};
      const LineData after = store.after();
      EXPECT_TRUE(redo.store(store, platform.now(), {}));
      platform.pm_space.newest().write(line, after);
    }
  }
  // TxEnd: the core waits.
  void end(std::uint64_t region) {
    resumed = false;
    EXPECT_FALSE(redo.region_end(0, region, platform.now(), completion<&RedoBench::resume>(*this)));
  }
  // ... until the transaction has committed.
  Picoseconds commit() {
    platform.until([this] { return resumed; });
    return platform.now();
  }
  HwRedo::Survivors left() const { return redo.survivors(); }
  std::uint64_t recovered(Line line) const {
    Image image = surviving(platform.pm);
    recover_redo_log(redo.survivors(), image);
    return value_of(image.read(line));
  }
  std::uint32_t adr_entries() const { return platform.adr_entries(configuration_.pm.wpq_entries); }
  double statistic(std::string_view name) const {
    StatisticsCollector collector;
    redo.statistics(collector);
    for (const Statistic& found : collector.found) {
      if (found.name == name) return found.value;
    }
    return -1;
  }

  bool resumed = false;

 private:
  void resume(std::uint64_t, Picoseconds) { resumed = true; }

  const Configuration configuration_;
  const std::unique_ptr<Atomicity> atomicity_;

 public:
  Platform platform;
  HwRedo& redo;
};

}  // namespace pmemsim
