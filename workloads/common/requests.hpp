// What a thread's regions are to do, drawn before the measured part: programs are asked by somebody
// else, whose work is none of theirs. Of a long run the first requests are, and the others a
// stretch at a time on the way, so that memory stays bounded.
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
//   Request empty() const      what draw() fills
//   void draw(Request&)        the next one
template <class Source>
class Requests {
 public:
  using Request = typename Source::Request;

  // Each of `request_bytes`, with all that it points to.
  Requests(Source source, std::uint64_t count, std::uint64_t request_bytes)
      : source_(std::move(source)),
        drawn_(std::clamp<std::uint64_t>(count, 1, kBytes / request_bytes), source_.empty()),
        next_(drawn_.size()) {}

  // As many as there is room for are drawn, those that nobody has asked for among them.
  void make_ready() {
    std::ranges::rotate(drawn_, drawn_.begin() + static_cast<std::ptrdiff_t>(next_));
    for (std::size_t i = drawn_.size() - next_; i < drawn_.size(); ++i) source_.draw(drawn_[i]);
    next_ = 0;
  }

  // Valid until the next one is asked for.
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
