// Another order of the threads, on request (`pmemsim record --hold THREAD:OPERATION`): a thread is
// held behind one of its operations while the other threads run on.
//
// 1. Up to that operation, the recording is that of the same schedule without the request.
// 2. The thread is held until no other thread can run: all others wait, spin or have ended. A wait
//    for the held thread therefore ends the hold, and never deadlocks.
// 3. Other threads may wait in ways that the recorder doesn't recognise. The hold therefore also
//    ends after kLongestHold.
#pragma once

#include <cstdint>

#include "thread.hpp"

namespace pmemsim::rt {

enum class HoldResult : std::uint8_t {
  kNotReached,  // the thread has not executed the operation
  kAlone,       // no other thread could run
  kHeld,
};

struct Hold {
  bool requested = false;
  std::uint64_t thread = 0;     // the thread's number in the recording
  std::uint64_t operation = 0;  // the operation's number in the thread
  HoldResult result = HoldResult::kNotReached;
};
extern Hold hold;

inline constexpr std::uint64_t kLongestHold = 1'000'000;  // in virtual nanoseconds

// Reads the environment; ends the program if its value is impossible.
void configure_hold();
// True if the thread has executed the operation behind which it is to be held, and was not yet.
bool is_hold_due(const Thread& thread);
const char* name_of(HoldResult result);

}  // namespace pmemsim::rt
