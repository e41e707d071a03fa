// Reports retired instructions of a core to the layers of a design and the observers of a run:
// loads and stores of PM, hints, and the begins and ends of regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"
#include "pmemsim/designs/interface/program_events.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"

namespace pmemsim {

class RetirementReports {
 public:
  RetirementReports(Design& design, const PmSpace& pm_space, const ProgramEvents& events,
                    const Clock& clock, CoreId core)
      : design_(design),
        pm_space_(pm_space),
        events_(events),
        clock_(clock),
        core_(core),
        wants_loads_(design.wants(kLoads)),
        wants_stores_(design.wants(kAllStores) && !design.wants(kWrittenStores)) {}

  // True if a layer receives loads, or stores when they retire.
  bool wants_loads() const { return wants_loads_; }
  bool wants_stores() const { return wants_stores_; }

  void load(std::uint64_t address, std::uint32_t size, bool forwarded, Slot slot);
  // Reports a store, in segments of at most RetiredStore::kMostBytes. `segments` is the number of
  // segments of the same instruction in earlier entries. Returns that number plus the segments of
  // this entry.
  std::uint32_t store(const StoreEntry& store, std::uint32_t segments, Slot slot);
  // Reports a store that has left the store queue, if a layer has requested kWrittenStores.
  void written(const StoreEntry& store, Slot slot) {
    written_segments_ = this->store(store, store.follows ? written_segments_ : 0, slot);
  }

  // Adds a hint that has been dispatched. retire_hint() reports the oldest one.
  void add_hint(const Hint& hint, std::span<const std::byte> data) {
    hints_.push_back({hint, {data.begin(), data.end()}});
  }
  void retire_hint(Slot slot);

  struct RetiredRegion {
    std::uint64_t region;
    Slot began;
  };
  void region_begins(Slot slot);
  RetiredRegion region_ends(Slot slot);

  // Discards everything that hasn't retired. The thread continues with this region.
  void roll_back(std::uint64_t region);

 private:
  struct PendingHint {
    Hint hint;  // its data are in `data`
    std::vector<std::byte> data;
  };

  void log_region(Stage stage, Slot slot) const;

  Design& design_;
  const PmSpace& pm_space_;
  const ProgramEvents& events_;
  const Clock clock_;
  const CoreId core_;
  const bool wants_loads_, wants_stores_;
  std::deque<PendingHint> hints_;  // hints that have not retired
  std::uint64_t regions_ = 0;      // number of the last region whose begin has retired
  std::uint64_t region_ = 0;       // the same, until its end has retired; then 0
  Slot region_began_ = 0;
  std::uint32_t written_segments_ = 0;  // segments of the last store that left the store queue
};

}  // namespace pmemsim
