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
        drawn_(std::clamp<std::uint64_t>(count, 1, kBytes / request_bytes), source_.empty()) {
    draw();
  }

  // Valid until the next one is asked for.
  Request& next() {
    if (next_ == drawn_.size()) draw();
    return drawn_[next_++];
  }

 private:
  static constexpr std::uint64_t kBytes = 16 << 20;  // 2,000 requests of the largest data

  void draw() {
    for (Request& request : drawn_) source_.draw(request);
    next_ = 0;
  }

  Source source_;
  std::vector<Request> drawn_;
  std::size_t next_ = 0;
};

}  // namespace workload
