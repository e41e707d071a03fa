// Notifies the senders of writes, and the observer of a run, that writes have become persistent.
#pragma once

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

class PersistenceNotices {
 public:
  // `latency`: the time that an acknowledgement takes.
  PersistenceNotices(EventQueue& queue, Picoseconds latency) : queue_(queue), latency_(latency) {}

  void observe(PersistenceObserver* observer) { observer_ = observer; }
  // True while other writes follow that are accepted in one step with the next one.
  void set_more_follow(bool more) { more_follow_ = more; }

  void persisted(const Write& write, PersistencePoint reached, Time now) {
    if (write.persisting) write.persisting(now);
    notify_observer(write, reached, now);
    acknowledge(write.persisted, now);
  }
  void notify_observer(const Write& write, PersistencePoint reached, Time now) {
    if (observer_ == nullptr) return;
    if (more_follow_) {
      observer_->persisted_with_next(write);
    } else {
      observer_->persisted(write, reached, now);
    }
  }
  // Schedules the acknowledgement. It is never called from within write(), whose caller may not
  // have the WriteId yet.
  void acknowledge(const Completion& persisted, Time now) {
    if (persisted) queue_.schedule(now + latency_, Phase::kController, persisted);
  }
  // A persistent write has been written by its bank, or dropped.
  void written(Line line) {
    if (observer_ != nullptr) observer_->written(line);
  }
  void dropped(const Write& write, Time now) {
    if (observer_ != nullptr) observer_->dropped(write, now);
  }

 private:
  EventQueue& queue_;
  const Picoseconds latency_;
  PersistenceObserver* observer_ = nullptr;
  bool more_follow_ = false;
};

}  // namespace pmemsim
