// The persistent buffer of a channel that holds the headers of a hardware log until they are
// written, or until they aren't needed any more. Its space is limited. Two mechanisms implement it:
// a queue for headers alone (header_queue.hpp), or entries of the write pending queue
// (adr_buffer.hpp).
//
// Every header in this buffer survives a crash, and no other header does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace pmemsim {

// A log's header, identified by the log's number and the record's.
struct HeaderId {
  std::uint32_t log, record;
  bool operator==(const HeaderId&) const = default;
};

class HeaderBuffer {
 public:
  explicit HeaderBuffer(std::uint32_t channels) : complete_(channels) {}
  virtual ~HeaderBuffer() = default;

  virtual bool has_space(std::uint32_t channel) const = 0;
  // Adds a header, for which there must be room.
  void take(HeaderId header, std::uint32_t channel) {
    occupy(channel);
    headers_.push_back(header);
  }
  void release(HeaderId header, std::uint32_t channel) {
    *std::find(headers_.begin(), headers_.end(), header) = headers_.back();
    headers_.pop_back();
    std::erase(complete_[channel], header);
    vacate(channel);
  }
  // True if an entry of an undo log stalls for room for its header. False if a header without room
  // is volatile until it is written.
  virtual bool stalls_stores() const = 0;

  // True if the header of a complete record stays in the buffer until it is spilled or its log is
  // released. False if the header is written to PM when its record is complete.
  virtual bool keeps_complete() const = 0;
  // Records that the record of this header, which stays in the buffer, is complete.
  void complete(HeaderId header, std::uint32_t channel) { complete_[channel].push_back(header); }
  // Returns the header that must be written to PM next to make room, if any: the oldest one whose
  // record is complete.
  std::optional<HeaderId> spill(std::uint32_t channel) {
    std::deque<HeaderId>& headers = complete_[channel];
    if (headers.empty()) return {};
    const HeaderId oldest = headers.front();
    headers.pop_front();
    return oldest;
  }
  // True if a header must be written to PM although there is room for another one.
  virtual bool is_short(std::uint32_t /*channel*/) const { return false; }
  // Requests notification of room that becomes free without the release of a header.
  virtual void await_space(std::uint32_t /*channel*/) {}

  // Returns the headers that survive a crash.
  std::span<const HeaderId> headers() const { return headers_; }

 protected:
  virtual void occupy(std::uint32_t channel) = 0;
  virtual void vacate(std::uint32_t channel) = 0;

 private:
  std::vector<HeaderId> headers_;
  // Headers of complete records that may be spilled, by channel, oldest first.
  std::vector<std::deque<HeaderId>> complete_;
};

}  // namespace pmemsim
