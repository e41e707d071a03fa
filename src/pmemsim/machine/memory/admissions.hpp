// Callers that send a write to a channel only when no other write waits there for an entry of the
// WPQ or for the link. They are admitted in order, and the next one waits if the previous one has
// sent such a write.
#pragma once

#include <deque>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/machine/memory/link.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/write_entries.hpp"

namespace pmemsim {

class Admissions {
 public:
  Admissions(EventQueue& queue, const MemoryParameters& parameters, const WriteEntries& wpq,
             const Link& to_device)
      : queue_(queue),
        queues_in_device_(parameters.queue_place == QueuePlace::kDevice),
        wpq_(wpq),
        to_device_(to_device) {}

  bool writes_wait() const {
    return !wpq_.waiting.empty() || (queues_in_device_ && to_device_.free_at() > queue_.now());
  }
  // Calls `admitted` once when no write waits any more.
  void await(Completion admitted) {
    waiting_.push_back(admitted);
    admit_later(queue_.now());
  }
  // Schedules admissions if callers are waiting and no write waits for an entry.
  void admit_later(Time now) {
    if (waiting_.empty() || scheduled_ || !wpq_.waiting.empty()) return;
    scheduled_ = true;
    const Time free = queues_in_device_ ? max(now, to_device_.free_at()) : now;
    queue_.schedule(free, Phase::kController, completion<&Admissions::admit>(*this));
  }

 private:
  void admit(std::uint64_t, Time now) {
    scheduled_ = false;
    while (!waiting_.empty() && !writes_wait()) {
      const Completion admitted = waiting_.front();
      waiting_.pop_front();
      admitted(now);
    }
    admit_later(now);
  }

  EventQueue& queue_;
  const bool queues_in_device_;
  const WriteEntries& wpq_;
  const Link& to_device_;
  std::deque<Completion> waiting_;  // oldest first
  bool scheduled_ = false;          // an event of admit() is scheduled
};

}  // namespace pmemsim
