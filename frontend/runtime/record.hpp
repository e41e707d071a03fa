// Starts and stops recording, and appends records to the calling thread's part of the trace.
#pragma once

#include <cstdint>

#include "pmemsim/trace/format.hpp"
#include "thread.hpp"

namespace pmemsim::rt {

void put_mark(trace::MarkKind kind, std::uint64_t first, std::uint64_t second);
void put_sync(trace::SyncKind kind, const volatile void* address, std::uint32_t object,
              std::uint32_t version, bool annotated = false);
void begin_recording();  // records all threads, from now on
void end_recording();
std::uint8_t* buffer_limit(const Thread& thread);  // the limit for the thread's buffer
void stop_recording_of_thread();                   // called by a thread that is about to end
// Counts of what has been recorded of the threads that have stopped.
struct Counts {
  std::uint64_t operations, instrumented, external;
};
Counts recorded_counts();
// Returns how many operations of the thread have been recorded and not removed.
std::uint64_t recorded_operations(const Thread& thread);
// Declares that none of the existing records will be removed.
void make_records_final(Thread& thread);
// Called before the trace addresses of memory change; the change applies to later records.
void translate_records();
// True if, since the last call of this function, the calling thread has recorded a point at which
// its turn may end (rule 1 of schedules.hpp).
bool has_recorded_point();
// Returns the site that a thread has recorded last, for messages.
std::uint32_t last_site(const Thread& thread);

}  // namespace pmemsim::rt
