#include "pmemsim/designs/ordering/misspeculation_handler.hpp"

#include <algorithm>
#include <utility>

namespace pmemsim {

void MisspeculationHandler::connect(const LayerContext& context, Picoseconds window,
                                    Completion mark, Completion finished) {
  context_.emplace(context);
  window_ = window;
  mark_ = mark;
  finished_ = finished;
}

void MisspeculationHandler::alarm(Line line) {
  const Time until = clock_.now() + window_;
  const auto known =
      std::ranges::find_if(alarms_, [line](const Alarm& other) { return other.line == line; });
  if (known != alarms_.end()) {
    known->until = until;
  } else {
    if (parameters_.alarm_entries > 0 && alarms_.size() == parameters_.alarm_entries) {
      ++statistics_.lost_alarms;
      alarms_.erase(alarms_.begin());
    }
    alarms_.push_back({line, until});
  }
  if (std::exchange(interrupt_, true)) return;
  context_->queue.schedule(context_->queue.now() + parameters_.interrupt_latency,
                           Phase::kController,
                           completion<&MisspeculationHandler::interrupt>(*this));
}

void MisspeculationHandler::interrupt(std::uint64_t, Time now) {
  ++statistics_.interrupts;
  running_since_ = now;
  run(0, now);
}

// Polls while the windows' clock is stopped, because the time at which an alarm ends isn't known
// then.
void MisspeculationHandler::run(std::uint64_t, Time now) {
  mark_(now);
  std::erase_if(alarms_, [this](const Alarm& alarm) {
    if (!is_resolved(alarm)) return false;
    context_->program_events.stale_line_reported(alarm.line);
    return true;
  });
  if (alarms_.empty()) {
    interrupt_ = false;
    finished_(now);
    return;
  }
  const Picoseconds sent = alarms_.front().until - clock_.now();
  context_->queue.schedule(now + max(sent, clock_.poll_interval(running_since_)),
                           Phase::kController, completion<&MisspeculationHandler::run>(*this));
}

// True if no cache holds the line's misspeculated data any more.
bool MisspeculationHandler::is_resolved(const Alarm& alarm) {
  if (parameters_.alarmed_lines == AlarmedLines::kPublished) return true;
  if (clock_.now() < alarm.until || !context_->caches.drop(alarm.line)) return false;
  stale_.forget(alarm.line);
  return true;
}

}  // namespace pmemsim
