// The requests of a thread's regions, drawn before the measured part: real programs receive
// requests from another program, whose work is not measured. In a long run only the first requests
// are drawn before; the others are drawn in batches during the run, to bound the memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace workload {

// A source of requests is a class
//
//   using Request = ...
//   Request empty() const      the object that draw() fills
//   void draw(Request&)        draws the next request
template <class Source>
class Requests {
 public:
  using Request = typename Source::Request;

  // `request_bytes` is the size of a request with all memory that it points to.
  Requests(Source source, std::uint64_t count, std::uint64_t request_bytes)
      : source_(std::move(source)),
        drawn_(std::clamp<std::uint64_t>(count, 1, kBytes / request_bytes), source_.empty()),
        next_(drawn_.size()) {}

  // Draws as many requests as fit, and keeps those that have not been used yet.
  void make_ready() {
    std::ranges::rotate(drawn_, drawn_.begin() + static_cast<std::ptrdiff_t>(next_));
    for (std::size_t i = drawn_.size() - next_; i < drawn_.size(); ++i) source_.draw(drawn_[i]);
    next_ = 0;
  }

  // Returns the next request, which is valid until the next call.
  Request& next() {
    if (next_ == drawn_.size()) make_ready();
    return drawn_[next_++];
  }

 private:
  static constexpr std::uint64_t kBytes = 16 << 20;  // 2,000 requests of the largest data

  Source source_;
  std::vector<Request> drawn_;
  std::size_t next_;
};

}  // namespace workload
