// Flushes and fences that an analysis treats as missing from the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pmemsim::trace {

// Numbers of the left-out operations, by thread, ascending. A null pointer leaves nothing out.
using LeftOut = std::shared_ptr<const std::vector<std::vector<std::uint64_t>>>;

// Determines which operations of a thread are left out, for a caller that reads them in order.
class LeftOutOfThread {
 public:
  LeftOutOfThread(const LeftOut& all, std::uint32_t thread) {
    if (all != nullptr) left_ = all->at(thread);
  }
  // True if the operation of this number (from 0) is left out. Numbers must not decrease between
  // calls.
  bool leaves_out(std::uint64_t number) {
    while (!left_.empty() && left_.front() < number) left_ = left_.subspan(1);
    return !left_.empty() && left_.front() == number;
  }

 private:
  std::span<const std::uint64_t> left_;
};

}  // namespace pmemsim::trace
