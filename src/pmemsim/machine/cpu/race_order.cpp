#include "pmemsim/machine/cpu/race_order.hpp"

#include <algorithm>

namespace pmemsim {

void RaceOrder::follow(const trace::Races& races, std::uint32_t thread,
                       std::uint32_t first_object) {
  waits_ = races.of(thread);
  points_ = races.awaited(thread);
  first_object_ = first_object;
  own_object_ = first_object + thread;
  find_next();
}

void RaceOrder::find_next() {
  const auto wait = next_wait_ < waits_.size() ? waits_[next_wait_].number : kNever;
  const auto point = next_point_ < points_.size() ? points_[next_point_] : kNever;
  next_ = std::min(wait, point);
}

bool RaceOrder::pass(std::uint64_t number, const Progress& progress) {
  for (; next_point_ < points_.size() && points_[next_point_] <= number; ++next_point_) {
    reached_.push_back(
        {static_cast<std::uint32_t>(next_point_ + 1), progress.tail, progress.next_store});
  }
  release(progress);
  if (waiting_) return false;
  for (; next_wait_ < waits_.size() && waits_[next_wait_].number <= number; ++next_wait_) {
    const trace::Races::Wait& wait = waits_[next_wait_];
    waiting_ = !synchronisation_.acquire_version(first_object_ + wait.thread, wait.version,
                                                 completion<&RaceOrder::wait_over>(*this));
    if (waiting_) return false;
  }
  find_next();
  return true;
}

void RaceOrder::wait_over(std::uint64_t, Time now) {
  waiting_ = false;
  over_(now);
}

void RaceOrder::release(const Progress& progress) {
  while (!reached_.empty()) {
    const Reached& point = reached_.front();
    const bool in_flight = point.entry - progress.head - 1 < progress.tail - progress.head;
    if (in_flight || progress.first_store < point.store) return;
    queue_.schedule(queue_.now_or_later(progress.when), Phase::kCore,
                    completion<&RaceOrder::release_now>(*this, point.version));
    reached_.pop_front();
  }
}

void RaceOrder::release_now(std::uint64_t version, Time now) {
  synchronisation_.release_version(own_object_, static_cast<std::uint32_t>(version), now);
}

void RaceOrder::roll_back(std::uint64_t number) {
  if (waiting_) {
    synchronisation_.forget(first_object_ + waits_[next_wait_].thread,
                            completion<&RaceOrder::wait_over>(*this));
    waiting_ = false;
  }
  reached_.clear();
  const auto wait = std::ranges::lower_bound(waits_, number, {}, &trace::Races::Wait::number);
  next_wait_ = static_cast<std::size_t>(wait - waits_.begin());
  const auto point = std::ranges::lower_bound(points_, number);
  next_point_ = static_cast<std::size_t>(point - points_.begin());
  find_next();
}

}  // namespace pmemsim
