#include "holds.hpp"

#include <cstdlib>

#include "record.hpp"
#include "scheduler.hpp"
#include "schedules.hpp"
#include "status.hpp"

namespace pmemsim::rt {

Hold hold;

namespace {

// Returns the number of a thread in the recording, which leaves out threads without operations.
std::uint64_t number_in_recording(const Thread& thread) {
  std::uint64_t number = thread.index;
  for (const Thread* other : threads) {
    const bool left_out = other->state == State::kEnded && !other->has_operations;
    if (other->index < thread.index && left_out) --number;
  }
  return number;
}

}  // namespace

void configure_hold() {
  const char* const given = std::getenv("PMEMSIM_HOLD");
  if (given == nullptr) return;
  const char* text = given;
  hold.requested = take_number(text, hold.thread) && *text++ == ':' &&
                   take_number(text, hold.operation) && *text == '\0';
  if (hold.requested) return;
  fail("PMEMSIM_HOLD is \"%s\"; it must be a thread and one of its operations, as in 2:57", given);
}

bool is_hold_due(const Thread& thread) {
  return hold.requested && hold.result == HoldResult::kNotReached &&
         recorded_operations(thread) > hold.operation && number_in_recording(thread) == hold.thread;
}

const char* name_of(HoldResult result) {
  switch (result) {
    case HoldResult::kAlone:
      return "alone";
    case HoldResult::kHeld:
      return "held";
    case HoldResult::kNotReached:
      break;
  }
  return "not reached";
}

}  // namespace pmemsim::rt
