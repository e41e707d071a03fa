// PMEM-Spec's speculation buffer at a PM controller (ASPLOS 2021, 5.1.4, 5.3; tables 1 and 2). It
// detects a read of a line from PM before a store to it had arrived, and two stores to it that have
// arrived in the wrong order.
//
//   1  A line's entry has one of these states, and changes its state as requests arrive:
//
//                     write-back             read            store
//        Initial      Evict, a new window    -               -
//        Evict        a new window           Speculated      -
//        Speculated   a new window           -               misspeculation; then Evict
//
//      Most lines have no entry and are in state Initial. An entry is freed when its window is
//      over. The paper's drawing (figure 5) leaves open what a second write-back does. Here the
//      line stays Speculated: otherwise the sequence write-back, read, write-back, store would go
//      undetected (break.second_write_back). The paper gives no reason why a store leaves a line
//      Evict. This model takes as the reason that another store may still be in flight
//      (break.early_store).
//   2  A store of a critical section carries a speculation ID. If the line's entry has a larger ID,
//      that is misspeculation. Otherwise the entry takes over the store's ID, and a new window
//      begins. IDs have `id_bits` bits, and are compared modulo 2^`id_bits`. If `allocation` says
//      so, such a store makes an entry if there is none.
//   3  Requests are checked when they arrive, whether the queue has room for them or not. Stores
//      are checked when they are accepted, if `store_check` says so.
//   4  A request that needs an entry when none is free stays in the controller's input, and is
//      searched there as if it had an entry. overflows() is true until enough entries have been
//      freed. (5.3: "all cores pause"; requests in flight then continue.)
//   5  Windows are measured by a clock of their own (`now`), which can stop while a persist path is
//      backed up.
//   6  The naive scheme (5.1.2) watches lines that were read instead: a read makes an entry, or a
//      new window, and any store to the line is misspeculation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/designs/ordering/pmem_spec_parameters.hpp"

namespace pmemsim {

class SpeculationBuffer {
 public:
  struct Misspeculation {
    bool of_store;  // true: of a store; false: of a load
    bool false_alarm;
  };
  struct Persist {
    Line line;
    ByteMask bytes;
    std::optional<std::uint32_t> id;  // the speculation ID that the store carries
  };

  SpeculationBuffer(const PmemSpecParameters& parameters, Picoseconds window)
      : parameters_(parameters), window_(window) {}

  void write_back(Line line, Time now);
  // Records a read. `stale`: the bytes that it has found weren't the newest.
  void read(Line line, bool stale, Time now);
  std::optional<Misspeculation> persist(const Persist& persist, Time now);

  // Rule 4.
  bool overflows(Time now);
  // Returns the time when the first window is over.
  Time next_expiry() const;
  std::size_t entries() const { return entries_.size(); }

 private:
  enum class State : std::uint8_t { kInitial, kEvict, kSpeculated };
  struct Entry {
    Line line;
    State state = State::kInitial;
    bool stale = false;                 // true if a read since the write-back was stale
    std::optional<std::uint32_t> id{};  // the largest ID
    ByteMask bytes = 0;                 // bytes of the stores with that ID
    Time inserted{};
  };

  Entry* find(Line line, Time now);
  Entry& find_or_insert(Line line, Time now);
  void expire(Time now);
  std::optional<Misspeculation> check_load(Entry& entry);
  bool is_older(std::uint32_t id, std::uint32_t than) const {
    return static_cast<std::int32_t>((id - than) << (32 - parameters_.id_bits)) < 0;
  }

  PmemSpecParameters parameters_;
  Picoseconds window_;
  std::vector<Entry> entries_;
};

}  // namespace pmemsim
