// The store queue: everything that takes effect in program order after it has retired (total
// store order). Stores wait here for their line; flushes, fences, locked instructions and the
// boundaries of regions keep their place among them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

enum class StoreKind : std::uint8_t {
  kStore,
  kNonTemporal,
  kAtomicStore,
  kFlush,
  kFence,
  kFullFence,  // serialising, as all that follow
  kLocked,     // atomic read-modify-write
  kAcquire,
  kRelease,
  kRegionBegin,
  kRegionEnd,
  kFenceRegions,
  kContextSwitch,
};

// How far the entry at the head of the queue is. Each kind of entry takes some of these steps, in
// this order.
enum class Step : std::uint8_t {
  kArrived,   // at the head of the queue
  kInTime,    // simulated time has reached it: it asks for a lock, its turn or a region's boundary
  kAcquired,  // it has the lock, or its turn
  kReleases,  // the layers let it hand something over
  kOffered,   // simulated time has reached it: the layers are asked for the store or the flush
  kAllowed,   // the layers let it go on
  kSent,      // a flush, a fence or a region's boundary that the design has answered
};

struct StoreEntry {
  std::uint64_t number;
  std::uint64_t address;
  std::uint64_t region;  // 0: none
  Slot eligible;         // retired, or at the head of the ROB if serialising; kUnknownSlot before
  Slot data_ready;       // when a load can take the value from here; kUnknownSlot before
  Slot drained = 0;      // when it left
  Slot waiting_since;    // at the head of the queue, for something other than its turn
  std::uint32_t rob;     // its entry in the reorder buffer, while it is there
  std::uint32_t site;
  std::uint32_t object, version;
  std::uint32_t synchronisation;  // of what takes or gives something: its number
  StoreKind kind;
  trace::Purpose purpose;
  std::uint8_t detail;  // FlushKind, SyncKind, FenceMeaning
  std::uint8_t size;
  Step step;
  bool waits;        // to be resumed; it then goes on at `step`
  LayerAsked asked;  // by Design::store() or Design::region_end()
  bool serialising;
  bool goes_on;            // of a store that crosses a line, the part in the first one
  bool follows;            // ... and in the second one
  bool ends_region;        // the last of a region whose end isn't an entry of its own
  bool writes;             // a failed compare-exchange doesn't
  bool in_recorded_order;  // of its atomic variable
  trace::LockRole lock_role;
  std::array<std::byte, trace::kMaxAccessBytes> value;
};

class StoreQueue {
 public:
  explicit StoreQueue(std::uint32_t entries)
      : limit_(entries),
        mask_(std::bit_ceil(std::uint64_t{entries} + 2) - 1),
        entries_(mask_ + 1) {}

  std::uint64_t head() const { return head_; }
  std::uint64_t tail() const { return tail_; }
  bool empty() const { return head_ == tail_; }
  StoreEntry& at(std::uint64_t number) { return entries_[number & mask_]; }
  StoreEntry& front() { return at(head_); }
  StoreEntry& back() { return at(tail_ - 1); }

  bool has_room(std::uint32_t count) const { return tail_ + count - head_ <= limit_; }
  // If it has: since when.
  Slot free_since(std::uint32_t count) const {
    return entries_[(tail_ + count - 1 - limit_) & mask_].drained;
  }

  StoreEntry& push() { return entries_[tail_++ & mask_]; }
  void pop(Slot drained) { at(head_++).drained = drained; }
  // All that wait, as if they had never been.
  void forget(Slot when) {
    while (!empty()) pop(when);
  }

  // Store-to-load forwarding: the youngest store to the 8-byte granule, if it is in the queue at
  // `when`. A store may have been worked out to its end although it leaves later than that: it
  // stands in the ring until its place is needed, and no load comes before that place is free.
  void remember(std::uint64_t granule, std::uint64_t number) {
    forwards_[granule % kForwards] = {granule, number + 1};
  }
  const StoreEntry* youngest(std::uint64_t granule, Slot when) {
    const Forward& found = forwards_[granule % kForwards];
    if (found.granule != granule || found.number_plus_one == 0) return nullptr;
    if (found.number_plus_one + mask_ < tail_) return nullptr;
    const StoreEntry& store = at(found.number_plus_one - 1);
    return found.number_plus_one > head_ || store.drained > when ? &store : nullptr;
  }

 private:
  static constexpr std::size_t kForwards = 1024;
  struct Forward {
    std::uint64_t granule = 0;
    std::uint64_t number_plus_one = 0;  // 0: none
  };
  std::uint64_t limit_, mask_;
  std::uint64_t head_ = 0, tail_ = 0;
  std::vector<StoreEntry> entries_;  // a power of two, larger than the limit
  std::array<Forward, kForwards> forwards_{};
};

}  // namespace pmemsim
