// A test bench for a hardware log, between real caches and a real memory of two banks. A write
// takes a bank 300 ns; controller and bus take no time.
#pragma once

#include <string_view>
#include <vector>

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/hw_redo.hpp"
#include "unit/crash_probe.hpp"
#include "unit/memory_bench.hpp"
#include "unit/platform.hpp"
#include "unit/whole_redo.hpp"

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

// Pending operations of two_banks(), by bank.
inline std::vector<std::uint32_t> counters(const Platform& platform) {
  return {platform.pm.pending_operations().begin(), platform.pm.pending_operations().end()};
}
// True if a write is in the controller, and no bank has taken it yet.
inline bool queued(const Platform& platform, Line line, WriteKind kind) {
  WriteId id;
  return platform.pm.find(line, kind, id);
}
inline LineData in_pm(const Platform& platform, Line line) {
  return platform.pm.device().read(line);
}
// The number of ADR buffer entries that headers use, while no data use any.
inline std::uint32_t adr_entries(const Platform& platform, std::uint32_t all) {
  std::uint32_t free = 0;
  while (platform.pm.can_reserve(0, free + 1)) ++free;
  return all - 1 - free;
}

// One core's transactions on a redo log.
class RedoBench {
 public:
  RedoBench(std::initializer_list<KeyValue> more = {})
      : configuration_(two_banks(more)),
        platform(configuration_),
        redo(dynamic_cast<HwRedo&>(platform.design.atomicity())) {}

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
  // TxEnd: the core waits for the commit.
  void end(std::uint64_t region) {
    resumed = false;
    EXPECT_FALSE(redo.region_end(0, region, platform.now(), completion<&RedoBench::resume>(*this)));
  }
  // Runs until the transaction has committed. Returns the time of the commit.
  Time commit() {
    platform.until([this] { return resumed; });
    return platform.now();
  }
  HwRedo::Survivors left() const { return redo.survivors(); }
  std::uint64_t recovered(Line line) const {
    Image image = surviving(platform.pm);
    recover_redo_log(redo.survivors(), image);
    return value_of(image.read(line));
  }
  std::uint32_t adr_entries() const {
    return pmemsim::adr_entries(platform, configuration_.pm.wpq_entries);
  }
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
  void resume(std::uint64_t, Time) { resumed = true; }

  const Configuration configuration_;

 public:
  Platform platform;
  HwRedo& redo;
};

}  // namespace pmemsim
