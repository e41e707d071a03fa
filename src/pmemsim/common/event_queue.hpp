// Discrete events, ordered by (time, phase, sequence), so that the same run always takes the same
// course. An event is a plain function with an object and an argument: no allocation, no virtual
// call of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// What happens first when several things happen in the same picosecond.
enum class Phase : std::uint8_t {
  kDevice,      // a bank has finished
  kController,  // a controller decides
  kCache,       // a request reaches the shared cache
  kCore,        // a core goes on
};

// Someone to tell that something has happened: at what time, with the number given along.
struct Completion {
  void (*call)(void* object, std::uint64_t argument, Time when) = nullptr;
  void* object = nullptr;
  std::uint64_t argument = 0;

  explicit operator bool() const { return call != nullptr; }
  void operator()(Time when) const { call(object, argument, when); }
  bool operator==(const Completion&) const = default;
};

// Wraps a member function: completion<&Bank::finished>(bank, 3).
template <auto Member, class Object>
Completion completion(Object& object, std::uint64_t argument = 0) {
  return {[](void* self, std::uint64_t value, Time when) {
            (static_cast<Object*>(self)->*Member)(value, when);
          },
          &object, argument};
}

class EventQueue {
 public:
  Time now() const { return now_; }
  // The earliest point in time from `when` on at which an event can be scheduled. Cores compute
  // ahead of the queue or behind it, so that their times may be past.
  Time now_or_later(Time when) const { return max(when, now_); }
  bool empty() const { return soon_count_ == 0 && heap_.empty(); }
  std::uint64_t executed() const { return executed_; }

  // Asserts that `when` isn't past.
  void schedule(Time when, Phase phase, Completion action);

  // Executes the next event; false if there is none.
  bool step();

 private:
  struct Event {
    Time when;
    std::uint64_t order;  // phase, then sequence
    Completion action;
    bool before(const Event& other) const {
      return when != other.when ? when < other.when : order < other.order;
    }
  };
  static constexpr std::size_t kSoon = 32;
  static constexpr std::size_t kArity = 4;
  void refill();
  Event pop();
  void push(const Event& event);
  void sift_down(std::size_t hole, Event event);

  // Most events come before nearly all that wait: a core's next store is due a cycle from now. So
  // the first ones stand in order, the next one last, where few have to make room; all others,
  // which are later than these, are in a heap.
  std::array<Event, kSoon> soon_;
  std::size_t soon_count_ = 0;
  std::vector<Event> heap_;  // 4-ary: fewer cache misses than a binary heap
  std::uint64_t sequence_ = 0;
  std::uint64_t executed_ = 0;
  Time now_{};
};

}  // namespace pmemsim
