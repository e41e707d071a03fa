// Accesses that race come in the order in which they were recorded (analysis/races.hpp), so that
// what the recording says of values stays true.
//
// Before an operation that another thread's comes before, the front end waits until that one has
// retired and its stores have left the store queue. No layer is told: hardware doesn't know.
#include <algorithm>

#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {

void Core::follow_races(const trace::Races& races, std::uint32_t thread,
                        std::uint32_t first_object) {
  races_.waits = races.of(thread);
  races_.places = races.awaited(thread);
  races_.first_object = first_object;
  races_.own_object = first_object + thread;
  find_next_race();
}

void Core::find_next_race() {
  const auto wait = races_.next_wait < races_.waits.size() ? races_.waits[races_.next_wait].number
                                                           : RaceOrder::kNever;
  const auto place = races_.next_place < races_.places.size() ? races_.places[races_.next_place]
                                                              : RaceOrder::kNever;
  races_.next = std::min(wait, place);
}

// Before the operation of that number. False: the front end has to wait.
bool Core::pass_races(std::uint64_t number) {
  for (; races_.next_place < races_.places.size() && races_.places[races_.next_place] <= number;
       ++races_.next_place) {
    races_.reached.push_back(
        {static_cast<std::uint32_t>(races_.next_place + 1), tail_, stores_.tail()});
  }
  tell_of_races();
  if (races_.waiting) return false;
  for (; races_.next_wait < races_.waits.size() && races_.waits[races_.next_wait].number <= number;
       ++races_.next_wait) {
    const trace::Races::Wait& wait = races_.waits[races_.next_wait];
    races_.waiting = !synchronisation_.acquire_version(
        races_.first_object + wait.thread, wait.version, completion<&Core::race_over>(*this));
    if (races_.waiting) return false;
  }
  find_next_race();
  return true;
}

void Core::race_over(std::uint64_t, Picoseconds now) {
  races_.waiting = false;
  hold_up(clock_.slot(now), Cause::kLock);
  advance();
}

// Places that the thread has come to, with all that was before.
void Core::tell_of_races() {
  while (!races_.reached.empty()) {
    const RaceOrder::Reached& place = races_.reached.front();
    if (place.entry - head_ - 1 < tail_ - head_ || stores_.head() < place.store) return;
    const Slot slot = std::max(retire_, drained_);
    queue_.schedule(max(clock_.time(slot), queue_.now()), Phase::kCore,
                    completion<&Core::race_told>(*this, place.version));
    races_.reached.pop_front();
  }
}

void Core::race_told(std::uint64_t version, Picoseconds now) {
  synchronisation_.release_version(races_.own_object, static_cast<std::uint32_t>(version), now);
}

// The thread goes on with the operation of that number.
void Core::take_back_races(std::uint64_t number) {
  if (races_.waiting) {
    const std::uint32_t other = races_.waits[races_.next_wait].thread;
    synchronisation_.forget(races_.first_object + other, completion<&Core::race_over>(*this));
    races_.waiting = false;
  }
  races_.reached.clear();
  const auto wait = std::ranges::lower_bound(races_.waits, number, {}, &trace::Races::Wait::number);
  races_.next_wait = static_cast<std::size_t>(wait - races_.waits.begin());
  const auto place = std::ranges::lower_bound(races_.places, number);
  races_.next_place = static_cast<std::size_t>(place - races_.places.begin());
  find_next_race();
}

}  // namespace pmemsim
