// LLVM's and Intel's OpenMP: records the order that its constructs give (openmp_tasks.hpp), instead
// of what its library does inside to get it.
#pragma once

#include "thread.hpp"

namespace pmemsim::rt {

// Called when a thread is created. If an OpenMP library makes the call, which returns to `caller`,
// and the runtime isn't its tool, notes that the recording lacks its synchronisation.
void note_foreign_openmp(const void* caller);

// Called when the library yields, as it does after each task that it executes while another waits.
void wait_for_tasks();

// While an instance exists, synchronisation by the library's own means isn't recorded: it also
// orders what the specification leaves unordered.
class UnrecordedSync {
 public:
  explicit UnrecordedSync(const void* caller);
  ~UnrecordedSync();
  UnrecordedSync(const UnrecordedSync&) = delete;
  UnrecordedSync& operator=(const UnrecordedSync&) = delete;
  bool applies() const { return applies_; }

 private:
  bool applies_;
};

// A thread that frees a team, or ends the program, wakes the team's threads. It then waits in a
// loop, which the runtime doesn't see, until they are ready to be freed. So the woken thread runs
// first.
void note_woken(Thread* thread);  // nullptr: the library has not woken a thread
void run_woken();                 // once the woken thread can run
void free_all_teams();            // the program ends

}  // namespace pmemsim::rt
