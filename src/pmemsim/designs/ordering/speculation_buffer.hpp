// PMEM-Spec's speculation buffer at a PM controller (ASPLOS 2021, 5.1.4, 5.3; tables 1 and 2). It
// detects load misspeculation: a line was read from PM before an earlier store to it had arrived.
// It also detects store misspeculation: two stores to a line arrived in the wrong order.
//
//   1  A line's entry has one of these states (first column). An arriving request (first row)
//      changes the state as follows; "-" means no change:
//
//                     write-back             read            store
//        Initial      Evict, a new window    -               -
//        Evict        a new window           Speculated      -
//        Speculated   a new window           -               misspeculation; then Evict
//
//      Most lines have no entry and are in state Initial. An entry is freed when its window is
//      over. Figure 5 of the paper doesn't show the effect of a second write-back. Here the line
//      stays Speculated. Otherwise the sequence write-back, read, write-back, store would not be
//      detected (break.second_write_back). The paper gives no reason why a line remains in state
//      Evict after a store. The reason is presumably that another store may still be in flight
//      (break.early_store).
//   2  A store of a critical section carries a speculation ID. If the line's entry has a larger ID,
//      the store is misspeculated. Otherwise the entry takes over the store's ID, and a new window
//      begins. IDs have `id_bits` bits, and are compared modulo 2^`id_bits`. Depending on
//      `allocation`, such a store creates an entry if the line has none.
//   3  Requests are checked when they arrive, whether the queue has room for them or not. Depending
//      on `store_check`, stores are checked when they are accepted instead.
//   4  A request that needs an entry while none is free stays in the controller's input. Look-ups
//      search the input, too, as if such a request had an entry. overflows() is true until enough
//      entries have been freed. (5.3: "all cores pause"; requests in flight continue.)
//   5  Windows are measured by a separate clock (`now`), which can stop while a persist path is
//      backed up.
//   6  The naive scheme (5.1.2) monitors the lines that were read instead of evicted lines. A read
//      creates an entry, or begins a new window. Every store to the line is then misspeculated.
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
  // Records a read. `stale`: true if the read returned bytes that weren't the newest.
  void read(Line line, bool stale, Time now);
  std::optional<Misspeculation> persist(const Persist& persist, Time now);

  // Implements rule 4 of the head comment.
  bool overflows(Time now);
  // Returns the earliest time at which a window ends.
  Time next_expiry() const;
  std::size_t entries() const { return entries_.size(); }

 private:
  enum class State : std::uint8_t { kInitial, kEvict, kSpeculated };
  struct Entry {
    Line line;
    State state = State::kInitial;
    bool stale = false;                 // true if a read since the write-back was stale
    std::optional<std::uint32_t> id{};  // the largest ID of the arrived stores
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
