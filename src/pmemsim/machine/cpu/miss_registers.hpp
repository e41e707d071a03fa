// The registers of the lines that a core's private caches wait for (MSHRs), and its prefetcher.
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
    std::uint32_t first_load = kNoLoad;  // of those that wait for the line
    bool used = false;
    bool prefetch = false;  // nobody has needed the line yet
  };

  // `entries`: for demand; the prefetcher has its own.
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

  // The register that waits for the line, which is asked for if it isn't yet; nullptr: none is
  // free.
  Register* ask_to_read(Line line, Slot leaves);
  // The same to write the line, if it isn't there for that. False: no register is free.
  bool ask_to_write(Line line, Slot slot);
  // The line has arrived. Returns the first load that waits for it.
  std::uint32_t filled(Line line, Slot slot);
  // Tells the prefetcher of an access, for the private caches' answer.
  void prefetch_after(Line line, const PrivateCaches::Lookup& found);
  // No load waits any more.
  void forget_loads() {
    for (Register& one : registers_) one.first_load = kNoLoad;
  }

 private:
  Register* find(Line line);
  Register* take(Slot& start);

  Hierarchy& hierarchy_;
  PrivateCaches& caches_;
  const Clock clock_;
  const CoreId core_;
  const std::uint32_t demand_;
  std::vector<Register> registers_;  // those for demand, then those of the prefetcher
  StreamPrefetcher prefetcher_;
  CoreStatistics& statistics_;
};

}  // namespace pmemsim
