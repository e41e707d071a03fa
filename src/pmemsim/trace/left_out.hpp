// Flushes and fences that a program is taken to be without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pmemsim::trace {

// By thread, their numbers among its operations, ascending. Null: none.
using LeftOut = std::shared_ptr<const std::vector<std::vector<std::uint64_t>>>;

// Whoever reads a thread's operations in their order asks it of each.
class LeftOutOfThread {
 public:
  LeftOutOfThread(const LeftOut& all, std::uint32_t thread) {
    if (all != nullptr) left_ = all->at(thread);
  }
  // `number`: the operation's, from 0; no lower one is asked of later.
  bool leaves_out(std::uint64_t number) {
    while (!left_.empty() && left_.front() < number) left_ = left_.subspan(1);
    return !left_.empty() && left_.front() == number;
  }

 private:
  std::span<const std::uint64_t> left_;
};

}  // namespace pmemsim::trace
