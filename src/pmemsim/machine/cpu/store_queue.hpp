// The store queue. It contains the operations that take effect in program order after they have
// retired (total store order): stores, which wait here for their line, flushes, fences, locked
// instructions and the boundaries of regions.
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
  kFullFence,  // serialising, like all kinds below
  kLocked,     // atomic read-modify-write
  kAcquire,
  kRelease,
  kRegionBegin,
  kRegionEnd,
  kFenceRegions,
  kContextSwitch,
};

// Progress of the entry at the head of the queue. Each kind of entry takes some of these steps, in
// this order.
enum class Step : std::uint8_t {
  kArrived,   // at the head of the queue
  kInTime,    // simulated time has reached the entry, which may request its lock, turn or region
  kAcquired,  // the entry has the lock or its turn
  kReleases,  // the layers allow the entry to release its object to other threads
  kOffered,   // simulated time has reached the store or flush, which is offered to the layers
  kAllowed,   // the layers allow the entry to continue
  kSent,      // a flush, a fence or a region's boundary that the design has answered
};

struct StoreEntry {
  std::uint64_t number;
  std::uint64_t address;
  std::uint64_t region;  // its region, or the last one that kFenceRegions awaits; 0: no region
  Slot eligible;       // when it retired or, if serialising, became the oldest; kUnknownSlot before
  Slot data_ready;     // when the value can be forwarded to loads; kUnknownSlot before
  Slot drained = 0;    // when it left the queue
  Slot waiting_since;  // when the head began to wait for something other than its turn
  std::uint32_t rob;   // its entry in the reorder buffer, valid until it retires
  std::uint32_t site;
  std::uint32_t object, version;
  std::uint32_t synchronisation;  // number of the acquisition or release
  // New entries of all kinds have the same values of the fields up to `follows`, which are set
  // together.
  Step step;
  LayerAsked asked;  // layers that Design::store() or Design::region_end() has asked
  trace::LockRole lock_role;
  bool waits;  // an event will resume it, at `step`
  bool serialising;
  bool ends_region;  // the last store of a region whose end has no entry of its own
  bool continues;    // part in the first line of a store that crosses a line
  bool follows;      // part in the second line of a store that crosses a line
  StoreKind kind;
  trace::Purpose purpose;
  std::uint8_t detail;  // FlushKind, SyncKind, FenceMeaning, LockRole
  std::uint8_t size;
  bool writes;             // false for a failed compare-exchange
  bool in_recorded_order;  // follows the recorded order of its atomic variable
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

  bool has_free_entries(std::uint32_t count) const { return tail_ + count - head_ <= limit_; }
  // Returns the time since which that many entries have been free, if has_free_entries().
  Slot free_since(std::uint32_t count) const { return drained(freed_by(count)); }
  // Returns the number of the entry whose departure left that many entries free.
  std::uint64_t freed_by(std::uint32_t count) const { return tail_ + count - 1 - limit_; }
  // Returns when one of the latest entries left the queue.
  Slot drained(std::uint64_t number) const { return entries_[number & mask_].drained; }
  std::uint64_t limit() const { return limit_; }

  StoreEntry& push() { return entries_[tail_++ & mask_]; }
  void pop(Slot drained) { at(head_++).drained = drained; }
  // Adds a store that has left the queue at `drained` already, for store-to-load forwarding.
  void pass(std::uint64_t address, std::uint32_t size, Slot data_ready, Slot drained) {
    remember(address, size, tail_);
    StoreEntry& store = push();
    store.number = head_;
    store.data_ready = data_ready;
    pop(drained);
  }
  // Discards all entries, as if they had never existed.
  void forget(Slot when) {
    while (!empty()) pop(when);
  }

  // Store-to-load forwarding: remember() records the youngest store to each 8-byte granule of these
  // bytes; youngest() returns the youngest store to any of them that is in the queue at `when`. A
  // store may have been popped although it leaves only after `when`, because its time is computed
  // ahead. Its entry in the ring buffer stays valid until a younger store reuses it. Loads that
  // follow this younger store are dispatched after the entry has become free.
  void remember(std::uint64_t address, std::uint32_t size, std::uint64_t number) {
    const std::uint64_t last = (address + size - 1) / 8;
    for (std::uint64_t granule = address / 8; granule <= last; ++granule) {
      forwards_[granule % kForwards] = {granule, number + 1};
    }
  }
  const StoreEntry* youngest(std::uint64_t address, std::uint32_t size, Slot when) {
    const StoreEntry* youngest = nullptr;
    const std::uint64_t last = (address + size - 1) / 8;
    for (std::uint64_t granule = address / 8; granule <= last; ++granule) {
      const StoreEntry* const found = youngest_of(granule, when);
      if (found != nullptr && (youngest == nullptr || found->number > youngest->number)) {
        youngest = found;
      }
    }
    return youngest;
  }

 private:
  const StoreEntry* youngest_of(std::uint64_t granule, Slot when) {
    const Forward& found = forwards_[granule % kForwards];
    if (found.granule != granule || found.number_plus_one == 0) return nullptr;
    if (found.number_plus_one + mask_ < tail_) return nullptr;
    const StoreEntry& store = at(found.number_plus_one - 1);
    return found.number_plus_one > head_ || store.drained > when ? &store : nullptr;
  }

  static constexpr std::size_t kForwards = 1024;
  struct Forward {
    std::uint64_t granule = 0;
    std::uint64_t number_plus_one = 0;  // 0: no store recorded
  };
  std::uint64_t limit_, mask_;
  std::uint64_t head_ = 0, tail_ = 0;
  std::vector<StoreEntry> entries_;  // the size is a power of two, larger than the limit
  std::array<Forward, kForwards> forwards_{};
};

}  // namespace pmemsim
