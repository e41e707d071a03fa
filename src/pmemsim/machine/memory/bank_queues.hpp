// The queued requests of one kind (reads or writes) in a channel, by bank, in order of arrival. For
// each bank the queues maintain the oldest request and the oldest request for the open row.
// First-ready, first-come first-served scheduling (FR-FCFS) therefore checks each bank once.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/common/slab.hpp"

namespace pmemsim {

inline constexpr std::uint64_t kNoRow = UINT64_MAX;

// The part of a request that queueing needs. Reads and writes derive from it.
struct Request {
  std::uint64_t row = 0;
  std::uint64_t order = 0;  // order of arrival at the channel
  std::uint32_t bank = 0;
  std::uint32_t previous = kNoSlot;
  std::uint32_t next = kNoSlot;
};

// A doubly linked list of requests, oldest first.
template <class Slot>
class RequestList {
 public:
  bool empty() const { return first_ == kNoSlot; }
  std::uint32_t first() const { return first_; }

  void push_back(Slab<Slot>& slots, std::uint32_t slot) {
    slots[slot].previous = last_;
    slots[slot].next = kNoSlot;
    (last_ == kNoSlot ? first_ : slots[last_].next) = slot;
    last_ = slot;
  }
  void remove(Slab<Slot>& slots, std::uint32_t slot) {
    const std::uint32_t previous = slots[slot].previous;
    const std::uint32_t next = slots[slot].next;
    (previous == kNoSlot ? first_ : slots[previous].next) = next;
    (next == kNoSlot ? last_ : slots[next].previous) = previous;
  }

 private:
  std::uint32_t first_ = kNoSlot;
  std::uint32_t last_ = kNoSlot;
};

template <class Slot>
class BankQueues {
 public:
  BankQueues(Slab<Slot>& slots, std::uint32_t banks) : slots_(slots), banks_(banks) {}

  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }
  const Slot& operator[](std::uint32_t slot) const { return slots_[slot]; }

  std::uint32_t size() const { return size_; }
  // Bit masks of the banks with requests, and of the banks with requests for their open row.
  std::uint64_t occupied() const { return occupied_; }
  std::uint64_t hits() const { return hits_; }
  std::uint32_t oldest(std::uint32_t bank) const { return banks_[bank].requests.first(); }
  std::uint32_t oldest_hit(std::uint32_t bank) const { return banks_[bank].hit; }

  void push(std::uint32_t slot, std::uint64_t open_row) {
    Bank& bank = banks_[slots_[slot].bank];
    bank.requests.push_back(slots_, slot);
    if (bank.hit == kNoSlot && slots_[slot].row == open_row) set_hit(slots_[slot].bank, slot);
    occupied_ |= bit(slots_[slot].bank);
    ++size_;
  }
  void remove(std::uint32_t slot) {
    Bank& bank = banks_[slots_[slot].bank];
    if (bank.hit == slot) {
      set_hit(slots_[slot].bank, find_row(slots_[slot].next, slots_[slot].row));
    }
    bank.requests.remove(slots_, slot);
    if (bank.requests.empty()) occupied_ &= ~bit(slots_[slot].bank);
    --size_;
  }
  void row_opened(std::uint32_t bank, std::uint64_t row) {
    set_hit(bank, find_row(banks_[bank].requests.first(), row));
  }
  void row_closed(std::uint32_t bank) { set_hit(bank, kNoSlot); }

 private:
  struct Bank {
    RequestList<Slot> requests;
    std::uint32_t hit = kNoSlot;
  };

  static std::uint64_t bit(std::uint32_t bank) { return std::uint64_t{1} << bank; }

  void set_hit(std::uint32_t bank, std::uint32_t slot) {
    banks_[bank].hit = slot;
    hits_ = slot == kNoSlot ? hits_ & ~bit(bank) : hits_ | bit(bank);
  }
  std::uint32_t find_row(std::uint32_t slot, std::uint64_t row) const {
    while (slot != kNoSlot && slots_[slot].row != row) slot = slots_[slot].next;
    return slot;
  }

  Slab<Slot>& slots_;
  std::vector<Bank> banks_;
  std::uint64_t occupied_ = 0;
  std::uint64_t hits_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace pmemsim
