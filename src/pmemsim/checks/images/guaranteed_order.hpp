// The crash images of a recorded program on any machine that keeps a design's durability
// guarantees. They are images after the design's own recovery, for any timing of the machine.
//
//   1  A *unit* is in the image whole or not at all. It is an atomic region that has ended, where
//      the design has whole regions (Promises::whole_regions), or otherwise a word of a store. A
//      word holds the value of its last writer among the units in the image, or its value before
//      the program.
//   2  An image that contains a unit contains all units that the unit follows. Any such set of
//      units is allowed. So the images are those of the down-closed sets of one order. The instant
//      of a crash does not matter: all later units follow the units that are guaranteed at that
//      instant (rules 5 to 7).
//
// The units that a unit follows:
//
//   3  A region follows the previous region of its thread, and the last region that wrote a word
//      that it reads or writes.
//   4  A store outside regions follows the previous stores to its word and to its line (a line
//      persists whole). Where the design guarantees it, it also follows all previous stores of its
//      thread (stores_in_order). Where the design guarantees reads_in_order, it also follows the
//      stores of other threads that its thread has read.
//   5  Operations after a fence, in its thread, follow the stores outside regions that the fence
//      covers: those that the thread has flushed (FencePromise::kFlushed), or all of them
//      (kStores). Where the design can't write such lines earlier (commits_cover_flushes), a
//      region's flushes of lines that the region has written take effect with the region.
//   6  A fence that makes stores durable guarantees the stores that it covers. A fence that only
//      orders (ofence) also guarantees them where it is the same instruction (kFlushed). Operations
//      after a guarantee follow the guaranteed units: in its own thread, and in any thread that
//      synchronises with it later, by a lock or an atomic variable.
//   7  A region is guaranteed when it ends (RegionPromise::kAtEnd). On other designs (ASAP), it is
//      guaranteed when a pm_fence_regions() of its thread, executed after its end, has completed. A
//      flush guarantees nothing about stores of regions.
//   8  Where caches persist, a store is guaranteed as soon as it is visible.
//   9  The images do not contain the writes of a software log and of recovery: a log keeps its
//      initial contents. Free memory (program_history.hpp) may hold anything; the images assume its
//      last contents.
//
// The rules that apply to each class of designs:
//   -  Atomic and durable at the end (software and hardware logs, LAD): rules 3 and 7 for regions,
//      rules 4 to 6 for stores outside.
//   -  Atomic, in the order of dependences, durable later (ASAP): the same rules, with the
//      pm_fence_regions() part of rule 7.
//   -  Epochs (HOPS): rule 4 with reads_in_order; rules 5 and 6 cover all stores.
//   -  Strict order (DPO, PMEM-Spec): the same, with stores_in_order in rule 4.
//   -  x86's own rules: rules 4 to 6 for flushed lines. persistency_model.hpp models more of x86:
//      the results of copies and non-temporal stores, and locked instructions as fences.
//
// Units that follow each other in a cycle count as one: a *group*. Threads are ordered as in
// program_history.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/crash/program_history.hpp"

namespace pmemsim {

class GuaranteedOrder {
 public:
  using UnitId = ProgramHistory::UnitId;
  // Groups are numbered so that each has a higher number than the groups that it follows, and that
  // all threads advance evenly.
  using Group = std::uint32_t;

  explicit GuaranteedOrder(const ProgramHistory& history);

  Group groups() const { return static_cast<Group>(writes_.size()); }
  std::span<const UnitId> units(Group group) const { return units_.of(group); }
  std::span<const Group> predecessors(Group group) const { return predecessors_.of(group); }
  std::span<const Group> successors(Group group) const { return successors_.of(group); }
  // True if the group stores anything. A group that stores nothing is in an image as soon as all
  // groups that it follows are.
  bool writes(Group group) const { return writes_[group]; }
  // False for a region that the recording ends in: it is in no image.
  bool is_complete(Group group) const { return complete_[group]; }
  // Returns the groups that store something and end.
  const std::vector<Group>& writers() const { return writers_; }
  Group group_of(UnitId unit) const { return group_of_[unit]; }

  // Returns the number of down-closed sets of writers if it is at most `most`. Otherwise returns an
  // upper bound of it that is above `most`.
  double count(std::uint64_t most) const;

 private:
  // A list of numbers for each group.
  class Lists {
   public:
    // Sets the lists. `pairs`: a group and a number each, in ascending order.
    void set(Group groups, const std::vector<std::pair<Group, std::uint32_t>>& pairs);
    std::span<const std::uint32_t> of(Group group) const {
      return {numbers_.data() + begins_[group], begins_[group + 1] - begins_[group]};
    }

   private:
    std::vector<std::size_t> begins_;
    std::vector<std::uint32_t> numbers_;
  };

  double chains() const;

  std::vector<Group> group_of_;
  Lists units_, predecessors_, successors_;
  std::vector<bool> writes_, complete_;
  std::vector<Group> writers_;
};

// Iterates over the down-closed sets of writers, each once. The empty set is first, and each set
// follows the set without its last group.
class EachGroupSet {
 public:
  explicit EachGroupSet(const GuaranteedOrder& order);
  // Moves to the next set; left() and joined() are the groups removed and added. Returns false if
  // there are no more.
  bool next();
  const std::vector<GuaranteedOrder::Group>& left() const { return left_; }
  const std::vector<GuaranteedOrder::Group>& joined() const { return joined_; }

 private:
  using Group = GuaranteedOrder::Group;
  struct Level {
    Group added;
    // Groups that may be added next, after `added`, from the back.
    std::vector<Group> ready;
  };
  void add(Group group, std::vector<Group> ready);
  void hold(Group group, std::vector<Group>& ready);
  void release(Group group);

  const GuaranteedOrder& order_;
  std::vector<std::uint32_t> missing_;  // By group: number of missing groups before it
  std::vector<Level> levels_;
  std::vector<Group> left_, joined_, stack_;
  bool begun_ = false;
};

}  // namespace pmemsim
