// The writes of a channel, from their arrival until their bank has written them. They are found by
// identity, and by line from the newest to the oldest, and are listed in the order of acceptance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/machine/memory/bank_queues.hpp"
#include "pmemsim/machine/memory/mapping.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

struct PendingWrite : Request {
  enum class State : std::uint8_t {
    kTravelling,  // on the link to a device that contains the queues
    kWaiting,     // waiting for an entry of its queue
    kQueued,      // in the WPQ or the log queue
    kWriting,     // its bank has taken it
    kDropped,     // dropped while it was on the link
  };

  // True if its bank hasn't taken it.
  bool waits() const { return state <= State::kQueued; }

  Write write;
  State state = State::kTravelling;
  bool persistent = false;
  bool reserved = false;     // has a WPQ entry before it is accepted
  bool log_queued = false;   // belongs to the log queue
  bool is_accepted = false;  // in the list of accepted writes
  Time arrived{};
  Time accepted{};
  std::uint32_t same_bucket = kNoSlot;  // next write in the same bucket of the lines' hash table
  std::uint32_t merged = kNoSlot;       // first of the writes that merged with this one
  std::uint32_t accepted_previous = kNoSlot;
  std::uint32_t accepted_next = kNoSlot;
};

class PendingWrites {
 public:
  // `operations` counts, by bank, the operations that wait for the bank or use it.
  PendingWrites(const MemoryParameters& parameters, std::span<std::uint32_t> operations);

  Slab<PendingWrite>& slots() { return writes_; }
  PendingWrite& operator[](std::uint32_t slot) { return writes_[slot]; }
  const PendingWrite& operator[](std::uint32_t slot) const { return writes_[slot]; }
  std::int64_t count() const { return count_; }
  std::int64_t most() const { return most_; }

  // Adds a write that arrives in this order. Returns its slot.
  std::uint32_t add(const Write& write, const DeviceLocation& location, std::uint64_t order,
                    Time now);
  // Removes a write. drop() removes a write that is on the link, whose slot is in use until it
  // arrives there, when arrived_dropped() releases the slot.
  void remove(std::uint32_t slot);
  void drop(std::uint32_t slot);
  void arrived_dropped(std::uint32_t slot);

  // A write's WriteId::number, and its slot; kNoSlot if the write has left the channel.
  std::uint64_t number_of(std::uint32_t slot) const;
  std::uint32_t slot_of(std::uint64_t number) const;

  // ---- By line.

  // Calls visit(slot) for the line's writes, the newest first. `visit` may remove its write.
  template <class Visit>
  void for_each(Line line, Visit&& visit) const {
    for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot;) {
      const std::uint32_t next = writes_[slot].same_bucket;
      if (writes_[slot].write.line == line) visit(slot);
      slot = next;
    }
  }
  // Finds the newest write of that line and kind that can still be dropped.
  bool find(Line line, WriteKind kind, std::uint64_t& number) const;
  // Returns a write that can still be dropped; nullptr if there is none of this number.
  const Write* pending(std::uint64_t number) const;
  // Returns all writes of the line, combined.
  Write combined(Line line) const;
  // True if writes that their banks haven't taken have all bytes of the line.
  bool whole_line_waits(Line line) const;
  // Returns the newest accepted write of the line, if it is in its queue and has the write's kind
  // and owner, and writes merge; else kNoSlot (channel.hpp, rule 6).
  std::uint32_t merge_candidate(const Write& write) const;
  // Adds bytes of waiting writes of the same line, which are older than this write.
  void add_waiting_bytes(std::uint32_t slot);

  // ---- By acceptance.

  void accepted(std::uint32_t slot);
  void leave_accepted(std::uint32_t slot);
  // Visits the accepted and persistent writes, the oldest first.
  template <class Visit>
  void for_each_accepted(Visit&& visit) const {
    for (std::uint32_t slot = oldest_accepted_; slot != kNoSlot;
         slot = writes_[slot].accepted_next) {
      if (writes_[slot].persistent) visit(writes_[slot].write);
    }
  }
  // Applies the line's accepted and persistent writes, oldest first, to its data on the device.
  void apply_accepted(Line line, LineData& data) const;

 private:
  std::size_t bucket(Line line) const {
    return (line.number * 0x9E3779B97F4A7C15u >> 32) & (lines_.size() - 1);
  }
  void unlink(std::uint32_t slot);

  const std::span<std::uint32_t> operations_;
  const bool merging_;
  Slab<PendingWrite> writes_;
  std::vector<std::uint32_t> lines_;  // hash table by line, newest first
  std::uint32_t oldest_accepted_ = kNoSlot;
  std::uint32_t newest_accepted_ = kNoSlot;
  std::int64_t count_ = 0, most_ = 0;
};

}  // namespace pmemsim
