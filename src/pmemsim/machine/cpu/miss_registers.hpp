// The miss registers of a core's private caches (MSHRs), and the core's prefetcher.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cache/hierarchy.hpp"
#include "pmemsim/machine/cache/stream_prefetcher.hpp"
#include "pmemsim/machine/cpu/core_statistics.hpp"

namespace pmemsim {

class MissRegisters {
 public:
  static constexpr std::uint32_t kNoLoad = UINT32_MAX;
  struct Register {
    Line line;
    Slot free_since = 0;
    std::uint32_t first_load = kNoLoad;  // first load in the list of waiting loads
    bool used = false;
    bool prefetch = false;  // no load or store has needed the line yet
  };

  // Constructs `entries` registers for demand misses. The prefetcher has separate registers.
  MissRegisters(Hierarchy& hierarchy, const Clock& clock, CoreId core, std::uint32_t entries,
                const PrefetchParameters& prefetch, CoreStatistics& statistics)
      : hierarchy_(hierarchy),
        caches_(hierarchy.private_caches(core)),
        clock_(clock),
        core_(core),
        demand_(entries),
        registers_(entries + (prefetch.streams > 0 ? prefetch.registers : 0)),
        prefetcher_(prefetch),
        statistics_(statistics) {}

  // Returns the register of the line; requests the line if no register is waiting for it. Returns
  // nullptr if no register is free.
  Register* request_read(Line line, Slot leaves);
  // Requests the line for writing if the private caches don't have it in a writable state. Returns
  // false if no register is free.
  bool request_write(Line line, Slot slot) {
    return (used_ == 0 && caches_.ready_for_write(line)) || request_missing(line, slot);
  }
  // Frees the register of a line that has arrived. Returns the first load that waits for it.
  std::uint32_t filled(Line line, Slot slot);
  // Trains the prefetcher with an access and the private caches' result.
  void prefetch_after(Line line, const PrivateCaches::Lookup& found) {
    if (prefetcher_.present()) train(line, found);
  }
  // Removes all loads from the lists of waiters.
  void forget_loads() {
    for (Register& one : registers_) one.first_load = kNoLoad;
  }

 private:
  void train(Line line, const PrivateCaches::Lookup& found);
  bool request_missing(Line line, Slot slot);
  Register* find(Line line) { return used_ == 0 ? nullptr : search(line); }
  Register* search(Line line);
  Register* take(Slot& start);
  void use(Register& mshr, Line line);

  Hierarchy& hierarchy_;
  PrivateCaches& caches_;
  const Clock clock_;
  const CoreId core_;
  const std::uint32_t demand_;
  std::uint32_t used_ = 0;           // number of registers in use
  std::vector<Register> registers_;  // registers for demand misses, then the prefetcher's
  StreamPrefetcher prefetcher_;
  CoreStatistics& statistics_;
};

}  // namespace pmemsim
