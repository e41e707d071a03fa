// Energy of a run's counts, computed by hand, and the assignment of each part to its component.
#include "pmemsim/machine/run/run_energy.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "run_trace.hpp"

namespace pmemsim {
namespace {

constexpr Picoseconds kTwoMicroseconds{2'000'000};

std::vector<Statistic> counted(const std::map<std::string, double>& counts) {
  std::vector<Statistic> statistics;
  for (const auto& [name, count] : counts) statistics.push_back({name, count, "", "", {}});
  return statistics;
}

// Returns the energy with all prices at their defaults, for a design with these operations and this
// predictor.
Energy of(const std::map<std::string, double>& counts, Picoseconds core_time = {},
          const std::string& operations = "none", const std::string& predictor = "none") {
  const Configuration configuration =
      configure(settings({{"backend", operations}, {"precompute", predictor}}));
  const std::vector<Statistic> statistics = counted(counts);
  return energy_of(EnergyBill({}, statistics, core_time), configuration.blueprint());
}

TEST(Energy, CoreEnergyIsPowerTimesTime) {
  EXPECT_EQ(of({}, kTwoMicroseconds).cores, 26e6) << "13 W for 2 us: 26 uJ";
  EXPECT_EQ(of({}, kTwoMicroseconds).total(), 26e6);
}

TEST(Energy, MemoryEnergyIsCountedPerLine) {
  const Energy energy = of({{"dram.bytes_read", 640},
                            {"dram.bytes_written", 128},
                            {"pm.bytes_read", 192},
                            {"pm.bytes_written", 20 * 64},
                            {"pm.data_bytes_written", 7 * 64},
                            {"pm.log_bytes_written", 5 * 64}});
  EXPECT_EQ(energy.dram, 10 * 1075 + 2 * 722);
  EXPECT_EQ(energy.pm_reads, 3 * 1741);
  EXPECT_EQ(energy.pm_data_writes, 7 * 9134);
  EXPECT_EQ(energy.pm_log_writes, 5 * 9134);
  EXPECT_EQ(energy.pm_metadata_writes, 8 * 9134);
  EXPECT_EQ(energy.total(), 12'194 + 5'223 + 20 * 9134);
}

TEST(Energy, OperationEnergyIncludesUnusedResults) {
  const Energy energy = of({{"counter_cache.hits", 4},
                            {"counter_cache.misses", 1},
                            {"tree_cache.hits", 2},
                            {"tree_cache.misses", 3},
                            {"fingerprint_cache.hits", 1},
                            {"backend.pads", 6},
                            {"backend.pads_unused", 2},
                            {"encryption.read_pads", 5},
                            {"backend.macs", 4},
                            {"backend.macs_unused", 1},
                            {"backend.tree_hashes", 30},
                            {"backend.tree_hashes_unused", 10},
                            {"integrity.nodes_verified", 2},
                            {"backend.md5s", 3},
                            {"backend.md5s_unused", 1},
                            {"backend.crc32s", 2},
                            {"backend.crc32s_unused", 1},
                            {"backend.compressions", 5},
                            {"backend.compressions_unused", 2},
                            {"backend.check_bits", 7},
                            {"backend.check_bits_unused", 3}},
                           {}, "compression,deduplication,encryption,integrity,error-correction");
  EXPECT_EQ(energy.metadata_caches, 11 * 175);
  EXPECT_EQ(energy.pads, 11 * 312);
  EXPECT_EQ(energy.macs, 4 * 1628);
  EXPECT_EQ(energy.tree_hashes, 32 * 1628);
  EXPECT_EQ(energy.fingerprints, 3 * 1302 + 2 * 2);
  EXPECT_EQ(energy.other_operations, 5 * 4 + 7 * 1);
  EXPECT_EQ(energy.unused, 2 * 312 + 11 * 1628 + 1302 + 2 + 2 * 4 + 3 * 1);
  EXPECT_EQ(energy.total(), 1'925 + 3'432 + 6'512 + 52'096 + 3'910 + 27)
      << "what is unused is among the others";
}

TEST(Energy, PredictorEnergyNeedsAPredictor) {
  const std::map<std::string, double> counts{{"core.stores", 100},
                                             {"backend.writes", 12},
                                             {"pmweaver.by_stores", 9},
                                             {"pmweaver.by_timeout", 1},
                                             {"pmweaver.write_backs", 3}};
  EXPECT_EQ(of(counts, kTwoMicroseconds, "encryption").total(), 26e6);
  const Energy energy = of(counts, kTwoMicroseconds, "encryption", "pmweaver");
  EXPECT_EQ(energy.predictor_power, 806e3) << "403 mW for 2 us";
  EXPECT_EQ(energy.predictor, 100 * 50 + 3 * 3297 + 10 * 160 + 12 * 295);
  EXPECT_EQ(energy.total(), 26e6 + 806e3 + 20'031);
}

TEST(Energy, StatisticsAreInNanojoules) {
  StatisticsCollector collector;
  collector.group("energy", of({{"pm.bytes_read", 64}}, kTwoMicroseconds));
  std::map<std::string, double> reported;
  double parts = 0;
  for (const Statistic& statistic : collector.found) {
    EXPECT_EQ(statistic.unit, "nJ");
    reported[statistic.name] = statistic.value;
    if (statistic.name != "energy.total_nj" && statistic.name != "energy.unused_nj") {
      parts += statistic.value;
    }
  }
  EXPECT_EQ(reported.at("energy.cores_nj"), 26e3);
  EXPECT_EQ(reported.at("energy.pm_reads_nj"), 1.741);
  EXPECT_DOUBLE_EQ(reported.at("energy.total_nj"), 26'001.741);
  EXPECT_DOUBLE_EQ(parts, reported.at("energy.total_nj"));
}

}  // namespace
}  // namespace pmemsim
