// Discrete events, ordered by (time, phase, sequence), so that a run is deterministic. An event is
// a plain function with an object and an argument: it needs no allocation and no virtual call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// Order of events that happen in the same picosecond.
enum class Phase : std::uint8_t {
  kDevice,      // a bank has finished
  kController,  // a controller decides
  kCache,       // a request reaches the shared cache
  kCore,        // a core continues
};

// A callback for the completion of an operation. It receives the time and the stored argument.
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
  // Returns the earliest time, not before `when`, at which an event can be scheduled. A core's time
  // may be ahead of the queue's time or behind it, so that `when` may be in the past.
  Time now_or_later(Time when) const { return max(when, now_); }
  bool empty() const { return soon_count_ == 0 && heap_.empty(); }
  std::uint64_t executed() const { return executed_; }

  // Schedules an event. Asserts that `when` is not in the past.
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

  // Most new events are due before nearly all pending ones: the next store of a core is due one
  // cycle later. Therefore the earliest events are in a sorted array, the next one last, so that an
  // insertion moves few entries. All later events are in a heap.
  std::array<Event, kSoon> soon_;
  std::size_t soon_count_ = 0;
  std::vector<Event> heap_;  // 4-ary: it has fewer cache misses than a binary heap
  std::uint64_t sequence_ = 0;
  std::uint64_t executed_ = 0;
  Time now_{};
};

}  // namespace pmemsim
