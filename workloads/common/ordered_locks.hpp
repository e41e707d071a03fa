// Several locks that a thread holds at once: each is taken only once, in ascending order, so that
// threads never wait for each other in a circle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

namespace workload {

class OrderedLocks {
 public:
  explicit OrderedLocks(std::vector<std::mutex>& locks) : locks_(locks) {}

  void add(std::size_t number) { numbers_.push_back(number); }

  void lock() {
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    for (const std::size_t number : numbers_) locks_[number].lock();
  }

  // Unlocks all locks and forgets them.
  void unlock() {
    for (const std::size_t number : numbers_) locks_[number].unlock();
    numbers_.clear();
  }

 private:
  std::vector<std::mutex>& locks_;
  std::vector<std::size_t> numbers_;
};

}  // namespace workload
