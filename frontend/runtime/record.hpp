// Starts and stops recording, and appends records to the calling thread's part of the trace.
#pragma once

#include <cstdint>

#include "pmemsim/trace/format.hpp"
#include "thread.hpp"

namespace pmemsim::rt {

void put_mark(trace::MarkKind kind, std::uint64_t first, std::uint64_t second);
void put_sync(trace::SyncKind kind, const volatile void* address, std::uint32_t object,
              std::uint32_t version, bool annotated = false);
// Records the accesses of a copy that has been made: loads of site + 1, unless `from` is null, and
// stores of site + 2.
void put_copy(std::uint32_t site, char* to, const char* from, std::uint64_t bytes);
// The same, with non-temporal stores; `to` and `bytes` are multiples of kCopyBytes.
void put_copy_past_caches(std::uint32_t load_site, std::uint32_t store_site, char* to,
                          const char* from, std::uint64_t bytes);
// Record stores and a flush at addresses of the trace.
void put_file_stores(std::uint32_t site, std::uint64_t trace_address, const char* values,
                     std::uint64_t bytes);
void put_file_flush(std::uint32_t site, std::uint64_t trace_address);
// Called with records of a thread that are about to be submitted: [begin, end). Null: nothing is.
extern void (*on_submission)(Thread& thread, const std::uint8_t* end);
void begin_recording();  // records all threads, from now on
void end_recording();
std::uint8_t* buffer_limit(const Thread& thread);  // the limit for the thread's buffer
void stop_recording_of_thread();                   // called by a thread that is about to end
// Counts of what has been recorded of the threads that have stopped.
struct Counts {
  std::uint64_t operations;
  // Instructions. External ones are estimates, a part of them for functions of unknown cost.
  std::uint64_t instrumented, external, unknown;
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
// Returns the end of the thread's records in its buffer.
const std::uint8_t* end_of_records(const Thread& thread);
// Returns the site that a thread has recorded last, for messages.
std::uint32_t last_site(const Thread& thread);

}  // namespace pmemsim::rt
