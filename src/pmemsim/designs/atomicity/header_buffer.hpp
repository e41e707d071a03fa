// Where the headers of a hardware log wait until they are written, or until nobody needs them any
// more: persistent places of the channels, of which there are only so many. What they are is the
// business of two mechanisms: a queue for them alone (header_queue.hpp), or entries of the write
// pending queue (adr_buffer.hpp).
//
// A crash leaves every header that has room here, and no other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pmemsim {

// A log's header, by the log's number and the record's.
struct HeaderId {
  std::uint32_t log, record;
  bool operator==(const HeaderId&) const = default;
};

class HeaderBuffer {
 public:
  virtual ~HeaderBuffer() = default;

  virtual bool has_room(std::uint32_t channel) const = 0;
  // There must be room.
  void take(HeaderId header, std::uint32_t channel) {
    take_room(channel);
    headers_.push_back(header);
  }
  void give_back(HeaderId header, std::uint32_t channel) {
    *std::find(headers_.begin(), headers_.end(), header) = headers_.back();
    headers_.pop_back();
    give_room(header, channel);
  }
  // Whether an undo log's entry waits for room for its header. If it doesn't, a header without room
  // is volatile until it is written.
  virtual bool makes_wait() const = 0;

  // Whether a header stays when its record is complete, until it is spilled or its log released;
  // otherwise it is written then.
  virtual bool keeps_complete() const = 0;
  // The record of this header, which stays, is complete.
  virtual void complete(HeaderId, std::uint32_t /*channel*/) {}
  // The header that is to be written next to make room, if any.
  virtual std::optional<HeaderId> spill(std::uint32_t /*channel*/) { return {}; }
  // Somebody waits for room that comes free without a header's being given back.
  virtual void await_room(std::uint32_t /*channel*/) {}

  // All that a crash leaves.
  std::span<const HeaderId> headers() const { return headers_; }

 protected:
  virtual void take_room(std::uint32_t channel) = 0;
  virtual void give_room(HeaderId header, std::uint32_t channel) = 0;

 private:
  std::vector<HeaderId> headers_;
};

}  // namespace pmemsim
