// What a crash may leave of a recorded program's persistent memory on any machine that keeps a
// design's promises: after the design's own recovery, and whatever the machine's timing.
//
//   1  A *unit* is there whole or not at all: an atomic region, where the design has whole regions
//      (Promises::whole_regions), when it has come to its end; or otherwise a word of a store. A
//      word holds what its last writer among the units that are there has stored to it, or what it
//      held before the program.
//   2  The units that are there are any that have, with a unit, all that it follows. So the images
//      are those of the down-closed sets of one order; a crash's instant doesn't matter, for what
//      is promised at an instant is something that all that comes after it follows (rules 5 to 7).
//
// What units follow:
//
//   3  A region follows the one before it on its thread, and the last region that wrote a word that
//      it reads or writes.
//   4  A store outside regions follows the stores before it to its word and to its line (a line
//      persists as it is). Where the design promises it, it also follows all its thread's stores
//      before it (stores_in_order), and what its thread has read of others (reads_in_order).
//   5  What comes after a fence, in its thread, follows what the fence covers of stores outside
//      regions: what the thread had flushed (FencePromise::kFlushed), or all of it (kStores). What
//      a region flushes of lines that it has written is there with the region where the design
//      can't write it any sooner (commits_cover_flushes).
//   6  A fence that makes durable promises what it covers. One that only orders (ofence) does so
//      where it is the same instruction (kFlushed). What comes after a promise follows what was
//      promised: in its own thread, and in any that has heard of it, by a lock or an atomic
//      variable.
//   7  A region is promised when it ends (RegionPromise::kAtEnd). Where it isn't (ASAP), it is when
//      a pm_fence_regions() of its thread is over that comes after its end. A flush promises
//      nothing of what regions have stored.
//   8  Where caches persist, a store is promised as soon as it is visible.
//   9  What a software log, and recovery, write for themselves isn't there: a log is as it was in
//      the beginning. Memory that nobody owns (program_history.hpp) may hold anything; it is taken
//      to hold what it held last.
//
// By classes: atomic and durable when they end (software and hardware logs, LAD) are regions by 3
// and 7, stores outside by 4 to 6; atomic, in the order of dependences, durable later (ASAP) are
// the same with the other half of 7; epochs (HOPS) are 4 with reads in order, and 5 and 6 of all
// stores; strict order (DPO, PMEM-Spec) is the same with 4's stores in order; x86's own rules are
// 4 to 6 of flushed lines (persistency_model.hpp has more of x86: what copies and non-temporal
// stores leave, locked instructions as fences).
//
// Units that follow each other in a circle count as one: a *group*. Threads are ordered as in
// program_history.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/crash/program_history.hpp"

namespace pmemsim {

class PromisedOrder {
 public:
  using UnitId = ProgramHistory::UnitId;
  // Groups are numbered so that each comes behind those that it follows, and threads get on alike.
  using Group = std::uint32_t;

  explicit PromisedOrder(const ProgramHistory& history);

  Group groups() const { return static_cast<Group>(writes_.size()); }
  std::span<const UnitId> units(Group group) const { return units_.of(group); }
  std::span<const Group> follows(Group group) const { return follows_.of(group); }
  std::span<const Group> followers(Group group) const { return followers_.of(group); }
  // Does it store anything? What doesn't is there as soon as all that it follows is.
  bool writes(Group group) const { return writes_[group]; }
  // A region that the recording ends in never is.
  bool ends(Group group) const { return ends_[group]; }
  // The groups that store something and end.
  const std::vector<Group>& writers() const { return writers_; }
  Group group_of(UnitId unit) const { return group_of_[unit]; }

  // How many down-closed sets of writers there are, if these aren't more than `most`; otherwise a
  // number above `most` that they don't exceed.
  double count(std::uint64_t most) const;

 private:
  // Some numbers of each of the groups.
  class Lists {
   public:
    // `pairs`: of a group and a number, ascending.
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
  Lists units_, follows_, followers_;
  std::vector<bool> writes_, ends_;
  std::vector<Group> writers_;
};

// Goes through the down-closed sets of writers, each once, the empty one first: each set comes
// behind the one that lacks its last group.
class EachPromisedSet {
 public:
  explicit EachPromisedSet(const PromisedOrder& order);
  // Goes to the next set, which groups leave and join. False: there are no more.
  bool next();
  const std::vector<PromisedOrder::Group>& left() const { return left_; }
  const std::vector<PromisedOrder::Group>& joined() const { return joined_; }

 private:
  using Group = PromisedOrder::Group;
  struct Level {
    Group added;
    std::vector<Group> ready;  // may be added next, behind `added`: the last one first
  };
  void add(Group group, std::vector<Group> ready);
  void hold(Group group, std::vector<Group>& ready);
  void release(Group group);

  const PromisedOrder& order_;
  std::vector<std::uint32_t> missing_;  // by group: of those that it follows
  std::vector<Level> levels_;
  std::vector<Group> left_, joined_, stack_;
  bool begun_ = false;
};

}  // namespace pmemsim
