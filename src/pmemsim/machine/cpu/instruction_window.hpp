// The reorder buffer and the load queue: operations in flight, in program order, what they wait
// for, and those that wait for them. Entries that have retired keep their place until it is needed,
// since their times say when it became free.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"

namespace pmemsim {

class InstructionWindow {
 public:
  static constexpr std::uint32_t kNoEntry = UINT32_MAX;

  enum class Kind : std::uint8_t {
    kPlain,
    kLoad,
    kAtomicLoad,
    kStore,
    kBranch,
    kRecurrence,
    kSerial,
    kAcquire,  // a lock that doesn't wait for the store queue
  };
  enum class State : std::uint8_t { kWaiting, kIssued, kComplete };

  // A place in the reorder buffer.
  struct Entry {
    std::uint64_t address;
    Slot dispatched;
    Slot ready;  // operands and barriers; once complete: when that was
    Slot retired;
    Slot delay;           // by which its dispatch was held up, and why
    std::uint64_t store;  // number of the first in the store queue
    std::uint32_t instructions;
    std::uint32_t site;
    std::uint32_t first_waiter;  // link, or kNoEntry
    std::uint32_t next_in_line;  // in the list of its MSHR
    std::uint32_t object, version;
    std::uint32_t synchronisation;  // of what takes something: its number
    std::uint16_t pending;          // operands whose time isn't known yet
    Kind kind;
    State state;
    Cause cause;
    Cause delay_cause;
    std::uint8_t size;
    std::uint8_t detail;
    std::uint8_t stores;  // entries in the store queue
    bool forwarded;       // a load that takes its value from the store queue
    bool region_begin, region_end;
    bool hint;
  };

  explicit InstructionWindow(const CoreParameters& parameters)
      : rob_entries_(parameters.rob_entries),
        // Operations of zero instructions take a place too, hence twice the instructions.
        entries_(std::bit_ceil(std::size_t{parameters.rob_entries} * 2)),
        entry_mask_(static_cast<std::uint32_t>(entries_.size() - 1)),
        load_retired_(std::bit_ceil(std::size_t{parameters.load_queue_entries}), 0),
        load_queue_entries_(parameters.load_queue_entries),
        load_mask_(load_retired_.size() - 1) {}

  // Before the first entry: the program has so many sites.
  void begin(std::size_t sites) { producers_.assign(sites, {}); }

  Entry& operator[](std::uint32_t index) { return entries_[index & entry_mask_]; }
  const Entry& operator[](std::uint32_t index) const { return entries_[index & entry_mask_]; }
  std::uint32_t head() const { return head_; }  // the oldest in flight
  std::uint32_t tail() const { return tail_; }
  bool empty() const { return head_ == tail_; }
  // Or has it retired, or been taken back?
  bool in_flight(std::uint32_t index) const { return index - head_ < tail_ - head_; }

  // Makes room for so many instructions, and moves `dispatch` to when there was. False: there is
  // none.
  bool make_room(std::uint32_t instructions, Slot& dispatch) {
    while (instructions_ + instructions > rob_entries_ || tail_ - first_ == entries_.size()) {
      if (first_ == head_) return false;
      const Entry& oldest = (*this)[first_++];
      dispatch = std::max(dispatch, oldest.retired);
      instructions_ -= std::min(oldest.instructions, rob_entries_);
    }
    return true;
  }
  // The same in the load queue, for one load.
  bool make_room_for_load(Slot& dispatch) const {
    if (loads_dispatched_ < load_queue_entries_) return true;
    const std::uint64_t previous = loads_dispatched_ - load_queue_entries_;
    if (previous >= loads_retired_) return false;
    dispatch = std::max(dispatch, load_retired_[previous & load_mask_]);
    return true;
  }
  // The index of a new entry, whose fields are those of an older one.
  std::uint32_t push(std::uint32_t instructions) {
    instructions_ += std::min(instructions, rob_entries_);
    return tail_++;
  }
  void load_dispatched() { ++loads_dispatched_; }
  void load_retired(Slot slot) { load_retired_[loads_retired_++ & load_mask_] = slot; }
  void retire_oldest() { ++head_; }

  // The entry produces what others of its site's consumers use.
  void produces(std::uint32_t site, std::uint32_t index) {
    producers_[site] = {kUnknownSlot, index};
  }
  // The entry waits for what these dependences (trace/format.hpp) name.
  void add_dependences(std::uint32_t index, std::span<const std::uint32_t> dependences,
                       Slot cycle) {
    Entry& consumer = (*this)[index];
    for (const std::uint32_t dependence : dependences) {
      const Producer& producer = producers_[dependence >> 8];
      const Slot latency = static_cast<Slot>(dependence & 0xff) * cycle;
      if (producer.complete != kUnknownSlot) {
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
  // The entry is complete. Appends those that waited for nothing else to `ready`.
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
  // What the entry produces is there, if it is still the latest of its site.
  void produced(std::uint32_t index, Slot slot) {
    if (Producer& producer = producers_[(*this)[index].site]; producer.entry == index) {
      producer = {slot, kNoEntry};
    }
  }
  // All that is in flight, as if it had never been.
  void forget() {
    links_.clear();
    free_link_ = kNoEntry;
    std::ranges::fill(producers_, Producer{});
    first_ = head_ = tail_;
    instructions_ = 0;
    loads_dispatched_ = loads_retired_;
  }

 private:
  struct Link {
    std::uint32_t entry;
    std::uint32_t next;
    Slot latency;
  };
  struct Producer {
    Slot complete = 0;
    std::uint32_t entry = kNoEntry;  // while `complete` is unknown
  };

  const std::uint32_t rob_entries_;
  // [first_, head_) have retired, [head_, tail_) are in flight.
  std::vector<Entry> entries_;
  const std::uint32_t entry_mask_;
  std::uint32_t first_ = 0, head_ = 0, tail_ = 0;
  std::uint32_t instructions_ = 0;  // of [first_, tail_)
  std::vector<Link> links_;
  std::uint32_t free_link_ = kNoEntry;
  std::vector<Producer> producers_;  // by site
  std::vector<Slot> load_retired_;   // of the latest loads, in a ring of a power of two
  const std::uint64_t load_queue_entries_, load_mask_;
  std::uint64_t loads_dispatched_ = 0, loads_retired_ = 0;
};

}  // namespace pmemsim
