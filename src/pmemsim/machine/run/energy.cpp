#include "pmemsim/machine/run/energy.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace pmemsim {
namespace {

// What a run has counted, and what that takes.
class Bill {
 public:
  explicit Bill(std::span<const Statistic> statistics) : statistics_(statistics) {}

  // Nothing of what the run's design hasn't got.
  double count(std::string_view name) const {
    const auto found = std::ranges::find(statistics_, name, &Statistic::name);
    return found == statistics_.end() ? 0 : found->value;
  }
  bool has(std::string_view name) const {
    return std::ranges::find(statistics_, name, &Statistic::name) != statistics_.end();
  }
  double lines(std::string_view bytes, Picojoules each) const {
    return count(bytes) / static_cast<double>(kLineBytes) * price(each);
  }
  double look_ups(const std::string& cache, Picojoules each) const {
    return (count(cache + ".hits") + count(cache + ".misses")) * price(each);
  }
  double executed(const std::string& work, Picojoules each) const {
    return count("backend." + work) * price(each);
  }
  double unused(const std::string& work, Picojoules each) const {
    return executed(work + "_unused", each);
  }

  static double price(Picojoules each) { return static_cast<double>(each.count); }
  static double over_time(Milliwatts power, Picoseconds time) {
    return static_cast<double>(power.count) * static_cast<double>(time.count) / 1000;
  }

 private:
  std::span<const Statistic> statistics_;
};

void add_memories(const EnergyParameters& each, const Bill& bill, Energy& energy) {
  energy.dram = bill.lines("dram.bytes_read", each.dram_read) +
                bill.lines("dram.bytes_written", each.dram_write);
  energy.pm_reads = bill.lines("pm.bytes_read", each.pm_read);
  energy.pm_data_writes = bill.lines("pm.data_bytes_written", each.pm_write);
  energy.pm_log_writes = bill.lines("pm.log_bytes_written", each.pm_write);
  energy.pm_metadata_writes =
      bill.lines("pm.bytes_written", each.pm_write) - energy.pm_data_writes - energy.pm_log_writes;
}

void add_operations(const EnergyParameters& each, const Bill& bill, Energy& energy) {
  for (const char* const cache : {"counter_cache", "tree_cache", "fingerprint_cache"}) {
    energy.metadata_caches += bill.look_ups(cache, each.metadata_cache);
  }
  energy.pads =
      bill.executed("pads", each.pad) + bill.count("encryption.read_pads") * Bill::price(each.pad);
  energy.macs = bill.executed("macs", each.sha1);
  energy.tree_hashes = bill.executed("tree_hashes", each.sha1) +
                       bill.count("integrity.nodes_verified") * Bill::price(each.sha1);
  energy.fingerprints = bill.executed("md5s", each.md5) + bill.executed("crc32s", each.crc32);
  energy.other_operations = bill.executed("compressions", each.compression) +
                            bill.executed("check_bits", each.check_bits);
  energy.unused = bill.unused("pads", each.pad) + bill.unused("macs", each.sha1) +
                  bill.unused("tree_hashes", each.sha1) + bill.unused("md5s", each.md5) +
                  bill.unused("crc32s", each.crc32) +
                  bill.unused("compressions", each.compression) +
                  bill.unused("check_bits", each.check_bits);
}

void add_predictor(const EnergyParameters& each, const Bill& bill, Picoseconds core_time,
                   Energy& energy) {
  if (!bill.has("pmweaver.by_stores")) return;
  energy.predictor_power = Bill::over_time(each.predictor, core_time);
  const double predictions = bill.count("pmweaver.by_stores") + bill.count("pmweaver.by_timeout");
  energy.predictor = bill.count("core.stores") * Bill::price(each.predictor_store) +
                     bill.count("pmweaver.write_backs") * Bill::price(each.predictor_flush) +
                     predictions * Bill::price(each.prediction) +
                     bill.count("backend.writes") * Bill::price(each.validation);
}

}  // namespace

Energy energy_of(const EnergyParameters& parameters, std::span<const Statistic> statistics,
                 Picoseconds core_time) {
  const Bill bill(statistics);
  Energy energy;
  energy.cores = Bill::over_time(parameters.core, core_time);
  add_memories(parameters, bill, energy);
  add_operations(parameters, bill, energy);
  add_predictor(parameters, bill, core_time, energy);
  return energy;
}

}  // namespace pmemsim
