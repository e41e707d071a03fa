// A thread of the recorded program, as the runtime sees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pthread.h>
#include <sched.h>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::rt {

// The state that every recorded operation touches, in thread-local storage. (Without constinit each
// access would first check whether another file has a constructor for it.)
struct Hot {
  std::uint8_t* cursor;  // location of the next record
  std::uint8_t* limit;   // from here on a record might not fit; nullptr while nothing is recorded
  std::int64_t budget;   // instructions left of the quantum
  // The contents of the buffer.
  std::uint64_t operations, instructions;
};
extern constinit thread_local Hot hot __attribute__((tls_model("initial-exec")));

enum class State : std::uint8_t {
  kRunnable,
  kSpinning,  // runnable again when the bytes that it reads change
  kPolling,   // runnable again when a file descriptor is ready
  kBlocked,   // blocked until another thread wakes it, or its deadline passes
  kOutside,   // asleep in code that the runtime doesn't see; has lost the token (watchdog.cpp)
  kEnded,
};

// A possible spin-wait: two iterations of a loop that reads one atomic variable.
struct SpinCandidate {
  std::uint32_t site;
  const volatile void* address;
  std::uint8_t* previous;  // the record of the last read but one; nullptr: none
  std::uint8_t* last;      // the record of the last read
  std::uint8_t value[16];
};

struct SyncObject;
struct Task;

struct Thread {
  std::uint32_t index;  // in order of creation; main is 0
  std::uint32_t slot;   // index in the scheduler's list
  State state;
  bool detached, cancelled;
  bool cancellable;   // the current wait is a cancellation point
  bool timed_out;     // the last wait ended by its deadline
  std::int32_t turn;  // futex: 1 when this thread has the token
  Hot* hot;           // set once the thread has run
  pid_t kernel_id;
  std::uint64_t deadline;  // deadline of the current wait, in virtual nanoseconds; 0: none
  std::uint64_t progress;  // in instructions, up to the current turn (scheduler.cpp)

  // Spinning and polling.
  const volatile void* watched;
  std::uint32_t watched_bytes;
  std::uint8_t watched_value[16];
  int descriptor;
  short events;

  // Waiting: the awaited object, and the queue that contains the thread.
  const char* waits_for;  // "the mutex", for messages
  SyncObject* waits_at;
  Thread* next_waiter;
  std::uint32_t wake_version;  // version of the release that ended the wait
  std::uint32_t wake_request;  // the waiter's request (reader or writer)
  Task* openmp_task;           // that its thread executes; nullptr: unknown
  Thread* woken;               // by OpenMP's library in this thread; nullptr: none
  bool frees_team;             // OpenMP's library is about to free the thread's team
  bool hides_sync;             // its calls are not recorded as synchronisation (openmp.hpp)

  // Recording.
  std::uint8_t* buffer;      // begin of the current one; nullptr: none
  std::uint8_t* seen;        // end of the records that have been searched for points
  std::uint8_t* translated;  // end of the records that already have the trace's addresses
  SpinCandidate spins[4];
  std::uint8_t before[16];    // the variable's value before the current atomic access
  std::uint32_t last_site;    // last site that left no record, for messages
  const std::uint8_t* noted;  // end of the records that dirty_lines.cpp has read
  bool in_library;            // in a function that is recorded at its interface
  bool has_operations;
  std::uint64_t submitted;  // operations in frames already submitted
  bool in_region_of_interest;

  // The thread's turns (turns.cpp).
  trace::Turn* turns;  // nullptr: none to be written
  std::uint32_t turn_count;
  std::uint64_t turns_end;  // end of the last turn that is in a frame

  // Signal handlers: nothing is recorded inside.
  std::uint64_t repeated_call;  // system call that the watchdog interrupted; 0: none
  std::uint32_t signals;
  std::uintptr_t signal_frame;
  std::uintptr_t signal_stack_begin, signal_stack_end;
  Hot hot_before_signal;

  // The underlying real thread.
  pthread_t handle;
  void* (*start)(void*);
  void* argument;
  void* result;
  std::uint32_t ending;  // rounds of the key's destructor
  void* stack;           // the runtime's own stack; nullptr: the program supplied one
  std::size_t stack_bytes;
  SyncObject* object;  // creation and end, as a synchronisation object
  cpu_set_t affinity;  // processors that the program requested; empty: none
};

extern constinit thread_local Thread* self __attribute__((tls_model("initial-exec")));

}  // namespace pmemsim::rt
