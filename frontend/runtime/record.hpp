// Starts and stops recording, and appends records to the calling thread's part of the trace.
#pragma once

#include <cstdint>

#include "pmemsim/trace/format.hpp"
#include "thread.hpp"

namespace pmemsim::rt {

void put_mark(trace::MarkKind kind, std::uint64_t first, std::uint64_t second);
void put_sync(trace::SyncKind kind, const volatile void* address, std::uint32_t object,
              std::uint32_t version, bool annotated = false);
void begin_recording();  // of all threads, from now on
void end_recording();
std::uint8_t* end_of_room(const Thread& thread);  // the limit that goes with its buffer
void stop_recording_of_thread();                  // the calling one; it is about to end
// What has been recorded of the threads that have stopped.
struct Counts {
  std::uint64_t operations, instrumented, external;
};
Counts recorded_counts();
// How many operations of the thread have been recorded, and not taken back.
std::uint64_t recorded_operations(const Thread& thread);
// None of what has been recorded will be taken back.
void keep_records(Thread& thread);
// Where things stand in the trace is about to change; it counts for what is recorded from now on.
void place_records();
// Is there a point of schedules.hpp, rule 1, in what the calling thread has recorded since the last
// time that this was asked?
bool has_passed_point();
// The site that a thread has recorded last, for messages.
std::uint32_t last_site(const Thread& thread);

}  // namespace pmemsim::rt
