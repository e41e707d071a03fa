// The writes that the backend holds or has sent (backend.hpp, rules 1, 2, 4 and 8), found by
// identity, and by line from the newest to the oldest.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

// A write, from its arrival until it has been written.
struct PassingWrite {
  enum class State : std::uint8_t {
    kHeld,           // waits for an operation, or for an older write of its line
    kAwaitsEntries,  // waits for queue entries for itself and its metadata
    kSent,           // sent to the queues, but not accepted
    kAccepted,       // accepted, but not written yet
  };
  // Completions of a newer write that has coalesced with this one (rule 2).
  struct Coalesced {
    Completion persisting, written;
  };

  Write write;
  std::uint64_t order = 0;        // position in the order of arrival; 0: the slot is free
  std::uint64_t unfinished = 0;   // one bit for each gate that still delays the write
  std::uint32_t older = kNoSlot;  // slot of the previous write of the line
  State state = State::kHeld;
  bool reserved = false;
  bool was_partial = false;  // the write was filled (rule 4)
  bool overwritten = false;  // a newer write of its line has been written (rule 8)
  Prepared prepared{};       // prepared results that the write may use
  WriteId in_queue;
  Encoded encoded;  // valid once it is sent
  std::vector<Coalesced> coalesced{};
  // Slot of the completions of all coalesced writes, if there are any.
  std::uint32_t acknowledgements = kNoSlot;

  bool is_held() const { return state <= State::kAwaitsEntries; }
};

class PassingWrites {
 public:
  explicit PassingWrites(const Memory& queues) : queues_(queues) {}

  PassingWrite& operator[](std::uint32_t slot) { return writes_[slot]; }
  const PassingWrite& operator[](std::uint32_t slot) const { return writes_[slot]; }
  // Returns the slot of the line's newest write; kNoSlot if there is none.
  std::uint32_t newest(Line line) const {
    const std::uint32_t* const slot = newest_.find(line);
    return slot == nullptr ? kNoSlot : *slot;
  }
  WriteId id_of(std::uint32_t slot) const;
  // Returns kNoSlot if the write has left.
  std::uint32_t slot_of(WriteId id) const;

  // Adds the line's newest write. Returns its slot.
  std::uint32_t add(const Write& write, bool reserved);
  void remove(std::uint32_t slot);

  // Returns the line's oldest write that hasn't been accepted; kNoSlot if there is none.
  std::uint32_t oldest_unaccepted(Line line) const;
  // True if held writes have all bytes of the line (rule 1).
  bool hold_whole(Line line) const;
  // Returns the newest bytes of the line that writes have which haven't been accepted.
  Write unaccepted(Line line) const;
  // True if the write can still be dropped (rules 4 and 8).
  bool droppable(const PassingWrite& passing) const;

 private:
  bool needed_by_newer(const PassingWrite& passing) const;

  const Memory& queues_;
  Slab<PassingWrite> writes_;
  LineTable<std::uint32_t> newest_;  // by line: slot of the newest write
  std::uint64_t order_ = 0;
};

}  // namespace pmemsim
