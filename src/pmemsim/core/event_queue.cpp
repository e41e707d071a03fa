#include "pmemsim/core/event_queue.hpp"

#include <algorithm>
#include <cassert>

namespace pmemsim {

void EventQueue::schedule(Picoseconds when, Phase phase, Completion action) {
  assert(when >= now_);
  const Event event{when, (std::uint64_t(phase) << 56) | sequence_++, action};
  heap_.push_back(event);
  sift_up(heap_.size() - 1, event);
}

void EventQueue::sift_up(std::size_t hole, const Event& event) {
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
  if (!heap_.empty()) fill_top(last);
  now_ = next.when;
  ++executed_;
  next.action(next.when);
  return true;
}

// The hole that the first event has left goes down to the bottom, where the event for it came from
// and most likely belongs.
void EventQueue::fill_top(const Event& event) {
  std::size_t hole = 0;
  for (;;) {
    const std::size_t first = hole * kArity + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kArity, heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      least = heap_[child].before(heap_[least]) ? child : least;
    }
    heap_[hole] = heap_[least];
    hole = least;
  }
  sift_up(hole, event);
}

}  // namespace pmemsim
