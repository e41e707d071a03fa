// The stores to PM of regions that may be rolled back (designs/interface/thread_control.hpp).
//
// A line that such a region has stored to has a history: its contents before the region, and all
// later stores to it. The history contains the stores of all cores, in the order in which they
// became visible. A rollback leaves the position of an undone store empty until the store is
// executed again. The line's contents result from the remaining stores. Therefore neither rollback
// nor re-execution changes bytes that another thread has stored to later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"

namespace pmemsim {

class SpeculativeStores {
 public:
  explicit SpeculativeStores(Image& newest) : newest_(newest) {}

  // Begins a region of the core. Its stores can be undone until the region ends.
  void begin(CoreId core);
  void end(CoreId core);
  // Makes a store visible. Its bytes may be in two lines.
  void store(CoreId core, std::uint64_t address, std::span<const std::byte> value);
  // Undoes the core's stores since the region began, the latest first. Calls notify(address, bytes)
  // for each store after it has restored the newest contents.
  template <class Notify>
  void roll_back(CoreId core, Notify&& notify) {
    Region& region = region_of(core);
    while (region.executed > 0) {
      const Line line = region.stores[--region.executed];
      Stored& stored = history(line).stored(core, region.executed);
      stored.applied = false;
      rebuild(line);
      notify(line.address() + stored.offset, stored.size);
    }
  }
  // Returns the number of lines with a history.
  std::size_t lines() const { return lines_.size(); }

 private:
  static constexpr CoreId kNoCore = UINT32_MAX;
  struct Stored {
    CoreId core;           // kNoCore: the store can no longer be undone
    std::uint32_t number;  // position among the region's stores
    std::uint8_t offset, size;
    bool applied;    // false while the store is undone
    LineData value;  // bytes from `offset` on
  };
  struct History {
    LineData before{};
    std::vector<Stored> stores;
    Stored& stored(CoreId core, std::uint32_t number);
  };
  struct Region {
    bool active = false;
    std::uint32_t executed = 0;  // number of `stores` executed since the begin or the last rollback
    std::vector<Line> stores;    // line of each store
  };

  Region& region_of(CoreId core);
  // Returns the history of a line that has one.
  History& history(Line line) { return histories_[*lines_.find(line)]; }
  History& new_history(Line line);
  void store_in_line(CoreId core, std::uint64_t address, std::span<const std::byte> value);
  void rebuild(Line line);
  void merge_final_stores(Line line);

  Image& newest_;
  std::vector<Region> regions_;     // by core
  LineTable<std::uint32_t> lines_;  // slots of the lines with a history
  Slab<History> histories_;
};

}  // namespace pmemsim
