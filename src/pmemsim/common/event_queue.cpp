#include "pmemsim/common/event_queue.hpp"

#include <algorithm>
#include <cassert>

namespace pmemsim {

void EventQueue::schedule(Time when, Phase phase, Completion action) {
  assert(when >= now_);
  const Event event{when, (std::uint64_t(phase) << 56) | sequence_++, action};
  const bool full = soon_count_ == kSoon;
  if ((!heap_.empty() && heap_.front().before(event)) || (full && soon_[0].before(event))) {
    push(event);
    return;
  }
  if (full) {
    push(soon_[0]);
    std::copy(soon_.begin() + 1, soon_.end(), soon_.begin());
    --soon_count_;
  }
  std::size_t place = soon_count_++;
  for (; place > 0 && soon_[place - 1].before(event); --place) soon_[place] = soon_[place - 1];
  soon_[place] = event;
}

bool EventQueue::step() {
  if (soon_count_ == 0) {
    if (heap_.empty()) return false;
    refill();
  }
  const Event next = soon_[--soon_count_];
  now_ = next.when;
  ++executed_;
  next.action(next.when);
  return true;
}

void EventQueue::push(const Event& event) {
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

// Fills only half of the array, so that it has free slots for new early events.
void EventQueue::refill() {
  soon_count_ = std::min(kSoon / 2, heap_.size());
  for (std::size_t place = soon_count_; place > 0; --place) soon_[place - 1] = pop();
}

EventQueue::Event EventQueue::pop() {
  const Event first = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
  return first;
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
