#include "pmemsim/core/event_queue.hpp"

#include <algorithm>
#include <cassert>

namespace pmemsim {

void EventQueue::schedule(Picoseconds when, Phase phase, Completion action) {
  assert(when >= now_);
  const Event event{when, (std::uint64_t(phase) << 56) | sequence_++, action};
  heap_.push_back(event);
  std::size_t hole = heap_.size() - 1;
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kArity;
    if (!event.before(heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

bool EventQueue::step() {
  if (heap_.empty()) return false;
  const Event next = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
  now_ = next.when;
  ++executed_;
  next.action(next.when);
  return true;
}

void EventQueue::sift_down(std::size_t hole, Event event) {
  const std::size_t size = heap_.size();
  for (;;) {
    const std::size_t first = hole * kArity + 1;
    if (first >= size) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < std::min(first + kArity, size); ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(event)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = event;
}

}  // namespace pmemsim
