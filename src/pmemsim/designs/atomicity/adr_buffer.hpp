// Log metadata in the ADR buffer (BLOM: Lu, Yue, Deng, Zhu, "Accelerate Hardware Logging for
// Efficient Crash Consistency in Persistent Memory", section III-B and figure 3).
//
//   1  Headers are buffered in the ADR buffer, the channel's write pending queue: a header takes as
//      many entries there as it has lines (Backend::reserve). A crash persists them.
//   2  Headers stay in the buffer until they aren't needed any more. They are then discarded
//      without a write to PM. Entries may therefore persist before or after their header.
//   3  When there is no room, a buffered header is written to PM, and releases its entries when
//      that write is persistent. The paper says "of a selected transaction"; here it is the oldest
//      header whose record is complete.
//
// The paper doesn't say what happens to a header that finds no room. In this model, a core's store
// that needs an undo log entry stalls for room. A header without room is volatile in a redo log,
// and in an undo log that the controllers write, because a controller can't stall. A redo log tries
// again to buffer the header when its record is complete.
#pragma once

#include <vector>

#include "pmemsim/designs/atomicity/header_buffer.hpp"
#include "pmemsim/designs/backend/backend.hpp"

namespace pmemsim {

class AdrBuffer final : public HeaderBuffer {
 public:
  // `space_freed` is notified when a requested entry may have become available.
  AdrBuffer(Backend& pm, std::uint32_t channels, std::uint32_t header_lines, bool from_controllers,
            Completion space_freed);

  // Implements rule 1 of the head comment.
  bool has_space(std::uint32_t channel) const override {
    return pm_.can_reserve(channel, header_lines_);
  }
  bool stalls_stores() const override { return !from_controllers_; }
  // Implements rule 2 of the head comment.
  bool keeps_complete() const override { return true; }
  void await_space(std::uint32_t channel) override;

 private:
  void occupy(std::uint32_t channel) override;
  void vacate(std::uint32_t channel) override;
  void entry_free(std::uint64_t channel, Time now);

  Backend& pm_;
  const std::uint32_t header_lines_;
  const bool from_controllers_;
  const Completion space_freed_;
  std::vector<bool> awaited_;  // by channel: true if an entry is requested
};

}  // namespace pmemsim
