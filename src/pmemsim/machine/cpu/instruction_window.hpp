// The reorder buffer and the load queue: operations in flight, in program order. Sites have links
// to the producers of their results, and producers have links to the consumers that wait for them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"
#include "pmemsim/machine/cpu/decoded_sites.hpp"

namespace pmemsim {

class InstructionWindow {
 public:
  static constexpr std::uint32_t kNoEntry = UINT32_MAX;
  // The time of results that aren't known yet. It is later than all others, and any latency can be
  // added to it.
  static constexpr Slot kNotComplete = kUnknownSlot - UINT32_MAX;

  enum class Kind : std::uint8_t {
    kPlain,
    kLoad,
    kAtomicLoad,
    kStore,
    kBranch,
    kRecurrence,
    kSerial,
    kAcquire,  // a lock that does not wait for the store queue
  };
  enum class State : std::uint8_t {
    kWaiting,  // for operands
    kIssued,
    kStarted,  // kSerial, kAcquire: it takes effect as the oldest operation
    kComplete,
  };

  // An entry of the reorder buffer.
  struct Entry {
    std::uint64_t address;
    Slot ready;  // when operands and barriers are ready; once complete, the time of completion
    Slot delay;  // delay of its dispatch; delay_cause is the reason
    // wait: how long the entry waited for another operation. behind_*: the parts of `wait` in which
    // that operation was queued behind a fence, a commit or stores. wait_cause: the cause of the
    // rest of `wait`.
    Slot wait, behind_fence, behind_commit, behind_stores;
    std::uint64_t store;  // index of its first entry in the store queue
    std::uint32_t instructions;
    std::uint32_t site;
    std::uint32_t first_waiter;     // first link in its list of waiters, or kNoEntry
    std::uint32_t next_in_line;     // next load in the list of its MSHR
    std::uint32_t object, version;  // kAtomicLoad, kAcquire
    std::uint32_t synchronisation;  // number of the acquisition
    // All new entries begin with the same values in the fields from here to `hint`. The compiler
    // can set them together.
    std::uint16_t pending;  // number of operands whose time isn't known yet
    State state;
    Cause cause;
    std::uint8_t stores;  // count of its entries in the store queue
    bool forwarded;       // true for a load that takes its value from the store queue
    bool region_begin, region_end;
    bool hint;
    Kind kind;
    Cause delay_cause, wait_cause;
    std::uint8_t size;
    std::uint8_t detail;  // kAtomicLoad, kAcquire
  };

  explicit InstructionWindow(const CoreParameters& parameters)
      : rob_entries_(parameters.rob_entries),
        // Operations of zero instructions take an entry, too. There are entries for as many of them
        // as there can be instructions; with more, dispatch stalls (free_entries).
        entries_(std::bit_ceil(std::size_t{parameters.rob_entries} * 2)),
        entry_mask_(static_cast<std::uint32_t>(entries_.size() - 1)),
        occupied_(entries_.size()),
        load_retired_(std::bit_ceil(std::size_t{parameters.load_queue_entries}), 0),
        load_queue_entries_(parameters.load_queue_entries),
        load_mask_(load_retired_.size() - 1),
        loads_dispatched_(load_queue_entries_),
        loads_retired_(load_queue_entries_) {}

  // Prepares for a program with this number of sites, before the first entry.
  void begin(std::size_t sites) { producers_.assign(sites, {}); }

  Entry& operator[](std::uint32_t index) { return entries_[index & entry_mask_]; }
  const Entry& operator[](std::uint32_t index) const { return entries_[index & entry_mask_]; }
  std::uint32_t head() const { return head_; }  // the oldest entry in flight
  std::uint32_t tail() const { return tail_; }
  bool empty() const { return head_ == tail_; }
  // True if the oldest entry can neither retire nor be started.
  bool oldest_waits() const {
    const Entry& oldest = (*this)[head_];
    return oldest.state == State::kWaiting || oldest.state == State::kStarted ||
           (oldest.state == State::kIssued && oldest.kind != Kind::kSerial &&
            oldest.kind != Kind::kAcquire);
  }
  // False if the entry has retired or has been rolled back.
  bool in_flight(std::uint32_t index) const { return index - head_ < tail_ - head_; }

  // Frees entries for this number of instructions, or for as many as there can be, and moves
  // `dispatch` to the time at which they were free. Returns false if the entries are still in use.
  bool free_entries(std::uint32_t instructions, Slot& dispatch) {
    instructions = std::min(instructions, rob_entries_);
    while (instructions_ + instructions > rob_entries_ || tail_ - first_ > entry_mask_) {
      if (first_ == head_) return false;
      const Occupied& oldest = occupied_[first_++ & entry_mask_];
      dispatch = std::max(dispatch, oldest.retired);
      instructions_ -= oldest.instructions;
    }
    return true;
  }
  // Moves `dispatch` to the time at which an entry of the load queue was free. Returns false if all
  // entries are in use.
  bool has_load_entry(Slot& dispatch) const {
    const std::uint64_t previous = loads_dispatched_ - load_queue_entries_;
    if (previous >= loads_retired_) return false;
    dispatch = std::max(dispatch, load_retired_[previous & load_mask_]);
    return true;
  }
  // Returns the index of a new entry, whose fields still have the values of an older one.
  std::uint32_t push(std::uint32_t instructions) {
    instructions = std::min(instructions, rob_entries_);
    instructions_ += instructions;
    occupied_[tail_ & entry_mask_].instructions = instructions;
    return tail_++;
  }
  void load_dispatched() { ++loads_dispatched_; }
  void load_retired(Slot slot) { load_retired_[loads_retired_++ & load_mask_] = slot; }
  void retire_oldest(Slot slot) { occupied_[head_++ & entry_mask_].retired = slot; }

  // Makes the entry the producer for later consumers of its site.
  void produces(std::uint32_t site, std::uint32_t index) {
    producers_[site] = {kNotComplete, index};
  }
  // The same for an entry whose result is available at that time already.
  void produced_at_once(std::uint32_t site, Slot slot) { producers_[site] = {slot, kNoEntry}; }
  // Returns the time, not before `ready`, at which the results of these producers are available. If
  // it isn't known yet, it is kNotComplete or later.
  Slot operands_ready(std::span<const Dependence> dependences, Slot ready) const {
    for (const auto [producer, latency] : dependences) {
      ready = std::max(ready, producers_[producer].complete + latency);
    }
    return ready;
  }
  // Makes the entry wait for the producers in `dependences`.
  void add_dependences(std::uint32_t index, std::span<const Dependence> dependences) {
    Entry& consumer = (*this)[index];
    for (const auto [site, latency] : dependences) {
      const Producer& producer = producers_[site];
      if (producer.complete != kNotComplete) {
        consumer.ready = std::max(consumer.ready, producer.complete + latency);
      } else {
        wait_for(index, producer.entry, latency);
      }
    }
  }
  void wait_for(std::uint32_t index, std::uint32_t producer, Slot latency) {
    if (free_link_ == kNoEntry) {
      free_link_ = static_cast<std::uint32_t>(links_.size());
      links_.push_back({kNoEntry, kNoEntry, 0});
    }
    const std::uint32_t link = free_link_;
    free_link_ = links_[link].next;
    links_[link] = {index, (*this)[producer].first_waiter, latency};
    (*this)[producer].first_waiter = link;
    ++(*this)[index].pending;
  }
  // Completes the entry. Appends to `ready` the entries that waited only for this one.
  void complete(std::uint32_t index, Slot slot, std::vector<std::uint32_t>& ready) {
    Entry& done = (*this)[index];
    std::uint32_t link = done.first_waiter;
    done.first_waiter = kNoEntry;
    while (link != kNoEntry) {
      const Link waiter = links_[link];
      links_[link].next = free_link_;
      free_link_ = link;
      Entry& consumer = (*this)[waiter.entry];
      consumer.ready = std::max(consumer.ready, slot + waiter.latency);
      if (--consumer.pending == 0) ready.push_back(waiter.entry);
      link = waiter.next;
    }
  }
  // Records when the entry's result is available, if the entry is still the latest of its site.
  void produced(std::uint32_t index, Slot slot) {
    if (Producer& producer = producers_[(*this)[index].site]; producer.entry == index) {
      producer = {slot, kNoEntry};
    }
  }
  // Discards all entries in flight, as if they had never existed.
  void forget() {
    links_.clear();
    free_link_ = kNoEntry;
    std::ranges::fill(producers_, Producer{});
    first_ = head_ = tail_;
    instructions_ = 0;
    loads_dispatched_ = loads_retired_;
  }

 private:
  // The place of an entry in the reorder buffer. Later entries can take it after the entry has
  // retired.
  struct Occupied {
    Slot retired;
    std::uint32_t instructions;  // at most rob_entries_
  };
  struct Link {
    std::uint32_t entry;
    std::uint32_t next;
    Slot latency;
  };
  struct Producer {
    Slot complete = 0;
    std::uint32_t entry = kNoEntry;  // the producing entry while `complete` is unknown
  };

  const std::uint32_t rob_entries_;
  // [first_, head_) have retired, [head_, tail_) are in flight.
  std::vector<Entry> entries_;
  const std::uint32_t entry_mask_;
  std::vector<Occupied> occupied_;  // by entry
  std::uint32_t first_ = 0, head_ = 0, tail_ = 0;
  std::uint32_t instructions_ = 0;  // instructions in [first_, tail_)
  std::vector<Link> links_;
  std::uint32_t free_link_ = kNoEntry;
  std::vector<Producer> producers_;  // by site
  std::vector<Slot> load_retired_;   // ring buffer of the latest loads; size is a power of two
  const std::uint64_t load_queue_entries_, load_mask_;
  // Counted as if the load queue had been full of loads before the first one.
  std::uint64_t loads_dispatched_, loads_retired_;
};

}  // namespace pmemsim
