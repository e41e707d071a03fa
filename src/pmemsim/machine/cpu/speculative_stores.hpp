// The stores to PM of regions that may be taken back (designs/interface/thread_control.hpp).
//
// A line that such a region has stored to has a history: what it held before, and all stores to it
// since, whoever's they are, in the order in which they became visible. Taking a store back leaves
// its place in there empty until it is executed again; what the line holds is what the others
// leave. So bytes that another thread has stored to later stay as they are, both times.
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

  // The core's stores from now on may be taken back, until the region ends.
  void begin(CoreId core);
  void end(CoreId core);
  // A store becomes visible. Bytes may lie in two lines.
  void store(CoreId core, std::uint64_t address, std::span<const std::byte> value);
  // Takes back the core's stores since the region began, the latest first, and tells of each when
  // the newest contents are as before it: told(address, bytes).
  template <class Told>
  void take_back(CoreId core, Told&& told) {
    Region& region = region_of(core);
    while (region.executed > 0) {
      const Line line = region.stores[--region.executed];
      Stored& stored = history(line).stored(core, region.executed);
      stored.there = false;
      rebuild(line);
      told(line.address() + stored.offset, stored.size);
    }
  }
  // Lines with a history.
  std::size_t lines() const { return lines_.size(); }

 private:
  static constexpr CoreId kNobody = UINT32_MAX;
  struct Stored {
    CoreId core;           // kNobody: can't be taken back any more
    std::uint32_t number;  // of the region's stores
    std::uint8_t offset, size;
    bool there;
    LineData value;  // from `offset` on
  };
  struct History {
    LineData before{};
    std::vector<Stored> stores;
    Stored& stored(CoreId core, std::uint32_t number);
  };
  struct Region {
    bool open = false;
    std::uint32_t executed = 0;  // of `stores`, since the region began or was taken back
    std::vector<Line> stores;    // where each is
  };

  Region& region_of(CoreId core);
  // Of a line that has one.
  History& history(Line line) { return histories_[*lines_.find(line)]; }
  History& new_history(Line line);
  void store_in_line(CoreId core, std::uint64_t address, std::span<const std::byte> value);
  void rebuild(Line line);
  void settle(Line line);

  Image& newest_;
  std::vector<Region> regions_;     // by core
  LineTable<std::uint32_t> lines_;  // of those with a history: its slot
  Slab<History> histories_;
};

}  // namespace pmemsim
