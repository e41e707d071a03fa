// ASAP's uncommitted regions: their entries in the cores' CL Lists and in the channels' Dependence
// Lists (asap.hpp; ASAP, 4.5 to 4.8).
//
//   4.5  A region that begins takes an entry in its core's CL List, and one in a Dependence List.
//   4.8  An ended region's CL List entry is freed when its lines have persisted. The region commits
//        when it depends on no other region; its completion is broadcast to all Dependence Lists.
//   5.6  The low bits of a region's number select the channel of its Dependence List entry.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/designs/atomicity/asap_parameters.hpp"
#include "pmemsim/designs/atomicity/hardware_log.hpp"
#include "pmemsim/designs/interface/region_id.hpp"

namespace pmemsim {

// A CLPtr slot: a line whose data have to persist.
struct AsapSlot {
  Line line;
  std::uint32_t distance = 0;   // number of writes to other lines since the last write to it
  std::uint32_t in_flight = 0;  // number of unacknowledged data persist operations
  // True if a data persist operation has to start for the line.
  bool wanted = false;
  bool due = false;  // true if it starts as soon as the line is unlocked and the store visible
  bool invisible = false;  // true if its last store hasn't reached the cache yet
};

// An uncommitted region: its CL List entry (while it has one) and its Dependence List entry.
struct AsapRegion {
  CoreId core = 0;
  std::uint64_t number = 0;  // LocalRID
  bool ended = false;        // CL List: Done
  bool finished = false;     // no longer in the CL List
  bool persisted = false;    // Dependence List: Done
  bool committed = false;    // no longer in the Dependence List
  bool depended_on = false;  // true if in some other entry's Dep slot
  std::uint32_t channel = 0;
  std::uint32_t outstanding = 0;  // number of unacknowledged log writes and delayed evictions
  std::vector<AsapSlot> slots;
  std::vector<std::uint64_t> dependences;  // the regions that it depends on, by region_id()
  std::optional<HardwareLog::Id> log;
  std::vector<Line> lines;  // lines that the region owns, or has owned
  Time ended_at{};

  std::uint64_t rid() const { return region_id(core, number); }
};

class AsapRegions {
 public:
  using Rid = std::uint64_t;  // the core and the core's number of the region
  enum class List : std::uint8_t { kNone, kClList, kDependenceList };
  enum class Dependence : std::uint8_t { kNotNeeded, kAdded, kWouldBeCycle };

  AsapRegions(const AsapParameters& parameters, std::uint32_t cores, std::uint32_t channels)
      : parameters_(parameters), cores_(cores), dependence_entries_(channels) {}

  // Returns the region, or nullptr if it has committed or hasn't begun.
  AsapRegion* active(Rid rid) {
    std::deque<AsapRegion>& regions = cores_[core_of(rid)].regions;
    const std::uint64_t number = region_number(rid);
    if (regions.empty() || number < regions.front().number) return nullptr;
    const std::uint64_t at = number - regions.front().number;
    return at < regions.size() && !regions[at].committed ? &regions[at] : nullptr;
  }
  const AsapRegion* active(Rid rid) const { return const_cast<AsapRegions*>(this)->active(rid); }
  // Returns the core's regions in the order of their numbers; some may have committed.
  const std::deque<AsapRegion>& of(CoreId core) const { return cores_[core].regions; }
  template <class Visit>
  void for_each(Visit visit) {
    for (PerCore& core : cores_) {
      for (AsapRegion& region : core.regions) {
        if (!region.committed) visit(region);
      }
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    const_cast<AsapRegions*>(this)->for_each([&](const AsapRegion& region) { visit(region); });
  }
  std::uint64_t count() const { return uncommitted_; }

  // Returns a list in which the core's region has no free entry, if any.
  List full_list(CoreId core, std::uint64_t number) const;
  AsapRegion& begin(CoreId core, std::uint64_t number);
  // Frees the region's CL List entry.
  void finish(AsapRegion& region);
  // Frees the region's Dependence List entry, and returns its contents.
  AsapRegion commit(Rid rid);
  // Removes the committed region from all Dep slots. Adds to `ready` the regions that now depend on
  // no other region.
  void broadcast(Rid committed, std::vector<Rid>& ready);

  // Makes the region depend on another one. Two regions that depend on each other would never
  // commit, so a dependence that closes a cycle isn't added.
  Dependence depend(AsapRegion& region, Rid on);
  // True if the region commits without further progress of any thread.
  bool will_commit(Rid rid) const;
  // True if the Dep slots can't take this number of further dependences, and one of them will
  // become free.
  bool must_wait(const AsapRegion& region, std::size_t more) const;

 private:
  struct PerCore {
    std::deque<AsapRegion> regions;  // the uncommitted regions, by number, without gaps
    std::uint32_t cl_entries = 0;    // number of entries in use
  };

  std::uint32_t channel_of(std::uint64_t number) const {
    return static_cast<std::uint32_t>(number % dependence_entries_.size());  // 5.6
  }
  template <class Predicate>
  bool any_before(Rid rid, Predicate predicate) const;

  const AsapParameters parameters_;
  std::vector<PerCore> cores_;
  std::vector<std::uint32_t> dependence_entries_;  // number of entries in use, by channel
  std::uint64_t uncommitted_ = 0;
};

}  // namespace pmemsim
