// The acknowledgements of writes that have coalesced in the backend (backend.hpp, rule 2). When the
// one write that remains is persistent, the senders of all are notified.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/slab.hpp"

namespace pmemsim {

class CoalescedAcknowledgements {
 public:
  // Adds a sender to the group in `slot`. If there is no group yet, makes one of both senders: the
  // one in `persisted` is replaced by the group's own completion.
  void add(std::uint32_t& slot, Completion& persisted, const Completion& newer) {
    if (slot == kNoSlot) {
      slot = groups_.take();
      groups_[slot] = {persisted};
      persisted = completion<&CoalescedAcknowledgements::acknowledge>(*this, slot);
    }
    groups_[slot].push_back(newer);
  }
  // Drops the group of a write that won't be persistent, if it has one.
  void forget(std::uint32_t slot) {
    if (slot != kNoSlot) groups_.release(slot);
  }

 private:
  void acknowledge(std::uint64_t number, Time now) {
    const auto slot = static_cast<std::uint32_t>(number);
    const std::vector<Completion> all = std::exchange(groups_[slot], {});
    groups_.release(slot);
    for (const Completion& persisted : all) {
      if (persisted) persisted(now);
    }
  }

  Slab<std::vector<Completion>> groups_;
};

}  // namespace pmemsim
