// The energy of a run, computed from the statistics of components. Each operation takes a fixed
// energy, whether its result is used or not. A core takes a fixed power as long as it runs. The
// simulation has no counters for energy alone. docs/explanation/model.md gives the sources of the
// figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct EnergyParameters {
  Milliwatts core{13'000};
  Picojoules dram_read{1075};
  Picojoules dram_write{722};
  Picojoules pm_read{1741};
  Picojoules pm_write{9134};
  Picojoules metadata_cache{175};
  Picojoules pad{312};
  Picojoules sha1{1628};
  Picojoules md5{1302};
  Picojoules crc32{2};
  Picojoules compression{4};
  Picojoules check_bits{1};
  Milliwatts predictor{403};
  Picojoules predictor_store{50};
  Picojoules predictor_flush{3297};
  Picojoules prediction{160};
  Picojoules validation{295};

  template <class Visitor>
  void describe(Visitor& visit) {
    const Limits limits{.most = 1e12};
    visit("core", core, {.most = 1e6}, "Power of a core that runs a thread, including its caches");
    visit("dram_read", dram_read, limits, "Energy of reading a line of DRAM");
    visit("dram_write", dram_write, limits, "Energy of writing a line of DRAM");
    visit("pm_read", pm_read, limits, "Energy of reading a line of PM");
    visit("pm_write", pm_write, limits, "Energy of writing a line of PM");
    visit("metadata_cache", metadata_cache, limits, "Energy of a look-up in a metadata cache");
    visit("pad", pad, limits, "Energy of a line's one-time pad: four blocks of AES-128");
    visit("sha1", sha1, limits, "Energy of a MAC or a node's hash: a block of SHA-1");
    visit("md5", md5, limits, "Energy of the MD5 of a line");
    visit("crc32", crc32, limits, "Energy of the CRC-32 of a line");
    visit("compression", compression, limits, "Energy of compressing a line");
    visit("check_bits", check_bits, limits, "Energy of computing a line's check bits");
    visit("predictor", predictor, {.most = 1e6},
          "Power of PMWeaver's structures for each core that runs a thread");
    visit("predictor_store", predictor_store, limits,
          "Energy of PMWeaver's learner and predictor for a store");
    visit("predictor_flush", predictor_flush, limits,
          "Energy of PMWeaver learning from a write-back, which looks up all its chunks");
    visit("prediction", prediction, limits,
          "Energy of inserting a prediction into PMWeaver's buffer");
    visit("validation", validation, limits, "Energy of looking up a write in PMWeaver's buffer");
  }
};

// Energies in picojoules. Energy of unused results is counted twice: in `unused`, and in the member
// of its operation.
struct Energy {
  double cores = 0, dram = 0;
  double pm_reads = 0, pm_data_writes = 0, pm_log_writes = 0, pm_metadata_writes = 0;
  double metadata_caches = 0;
  double pads = 0, macs = 0, tree_hashes = 0, fingerprints = 0, other_operations = 0;
  double predictor_power = 0, predictor = 0;
  double unused = 0;

  double operations() const { return pads + macs + tree_hashes + fingerprints + other_operations; }
  double total() const {
    return cores + dram + pm_reads + pm_data_writes + pm_log_writes + pm_metadata_writes +
           metadata_caches + operations() + predictor_power + predictor;
  }

  template <class Visitor>
  void describe(Visitor& visit) const {
    const auto part = [&](std::string_view name, double picojoules, std::string_view what) {
      visit(name, picojoules / 1000, "nJ", what, share_of("total_nj"));
    };
    visit("total_nj", total() / 1000, "nJ", "Total energy of the run");
    part("cores_nj", cores, "Cores that run a thread, and their caches, proportional to time");
    part("dram_nj", dram, "Reads and writes of DRAM");
    part("pm_reads_nj", pm_reads, "Reads of PM");
    part("pm_data_writes_nj", pm_data_writes, "Writes of data in place to PM");
    part("pm_log_writes_nj", pm_log_writes, "Writes of logs to PM");
    part("pm_metadata_writes_nj", pm_metadata_writes, "Writes of operations' metadata to PM");
    part("metadata_caches_nj", metadata_caches, "Look-ups in metadata caches");
    part("pads_nj", pads, "Encryption: one-time pads, including those of reads");
    part("macs_nj", macs, "Integrity: MACs of lines");
    part("tree_hashes_nj", tree_hashes, "Integrity: hashes of the tree, including those of reads");
    part("fingerprints_nj", fingerprints, "Deduplication: fingerprints");
    part("other_operations_nj", other_operations, "Compression and check bits");
    part("predictor_power_nj", predictor_power, "PMWeaver's structures, proportional to time");
    part("predictor_nj", predictor, "PMWeaver's structures, per event");
    visit(
        "unused_nj", unused / 1000, "nJ",
        "Pads, MACs, hashes, fingerprints and other results that no write used",
        part_of("pads_nj", "macs_nj", "tree_hashes_nj", "fingerprints_nj", "other_operations_nj"));
  }
};

// The statistics of a run, and the energies that follow from them, in picojoules.
class EnergyBill {
 public:
  // Constructs the bill; `core_time` is the sum over all cores that run a thread.
  EnergyBill(const EnergyParameters& prices, std::span<const Statistic> statistics,
             Picoseconds core_time)
      : prices_(prices), statistics_(statistics), core_time_(core_time) {}

  const EnergyParameters& prices() const { return prices_; }
  // Returns the statistic's value, or 0 if the run's design does not have it.
  double count(std::string_view name) const {
    const auto found = std::ranges::find(statistics_, name, &Statistic::name);
    return found == statistics_.end() ? 0 : found->value;
  }
  double counted(std::string_view name, Picojoules each) const { return count(name) * price(each); }
  double lines(std::string_view bytes, Picojoules each) const {
    return count(bytes) / static_cast<double>(kLineBytes) * price(each);
  }
  double look_ups(const std::string& cache, Picojoules each) const {
    return (count(cache + ".hits") + count(cache + ".misses")) * price(each);
  }
  // Energy of all executed sub-operations of one kind in the backend. unused() returns the energy
  // of the sub-operations whose result no write used.
  double executed(const std::string& work, Picojoules each) const {
    return counted("backend." + work, each);
  }
  double unused(const std::string& work, Picojoules each) const {
    return counted("backend." + work + "_unused", each);
  }
  double over_core_time(Milliwatts power) const {
    return static_cast<double>(power.count) * static_cast<double>(core_time_.count) / 1000;
  }

 private:
  static double price(Picojoules each) { return static_cast<double>(each.count); }

  const EnergyParameters prices_;
  std::span<const Statistic> statistics_;
  const Picoseconds core_time_;
};

}  // namespace pmemsim
