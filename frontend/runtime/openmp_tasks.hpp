// Teams, tasks and taskgroups of OpenMP, and their order.
//
// The specification gives these edges. A release and an acquisition of a synchronisation object are
// recorded for each:
//
// 1. A parallel region's implicit tasks begin after the region is encountered, and the region's end
//    is after them.
// 2. A barrier separates the accesses of all tasks of a team.
// 3. An explicit task begins after its creation, and continues after its suspension.
// 4. An explicit task is complete before the end of a taskwait of its parent, of the taskgroups
//    around its creation, and of the team's next barrier.
// 5. Sibling tasks are ordered by their depend clauses; iterations of a loop by ordered(n).
#pragma once

#include <cstdint>

#include "objects.hpp"
#include "ompt.hpp"

namespace pmemsim::rt {

struct Team;
struct Group;
struct Depends;

enum class Awaited : std::uint8_t { kNothing, kChildren, kGroup };

struct Task {
  Task* next_free;
  Task* parent;
  Team* team;
  Group* group;      // the innermost taskgroup around the task's creation, or in the task
  Depends* depends;  // its depend clauses
  std::uint64_t id;
  std::uint32_t references;  // 1 until it is complete, and 1 for each child
  std::uint32_t barriers;    // implicit task: barriers that it has left
  std::uint32_t loops;       // implicit task: worksharing loops that it has begun
  bool started, undeferred, untied, detached, is_taskwait;
  Awaited awaits;           // while its thread executes other tasks
  std::uint32_t executing;  // children that threads execute now, or have suspended
  SyncObject steps;         // its creation and suspensions
  SyncObject children;      // its children's completion
};

Team* begin_team();
void end_team(Team* team);

Task* begin_implicit_task(Team* team);
Task* create_task(Task* parent, bool undeferred, bool untied);
void add_dependences(Task* task, const ompt::Dependence* list, int count);
void begin_step(Task* task);  // first, or after a suspension
void suspend_task(Task* task);
void detach_task(Task* task);  // its body has ended; an event will complete it
void complete_task(Task* task);
void complete_depend_taskwait(Task* task);  // a taskwait with depend clauses
void forget_task(Task* task);

// The library waits for tasks in a loop that makes no calls, unless it finds other tasks to
// execute. These functions are called before: they wait for the tasks that other threads execute.
void begin_wait(Task* task, Awaited awaited);
void continue_wait(Task* task);
void end_wait(Task* task);
void let_siblings_run(Task* task);  // before a taskwait with depend clauses

void arrive_at_barrier(Task* task);
void leave_barrier(Task* task);
void end_taskwait(Task* task);
void begin_taskgroup(Task* task);
void complete_taskgroup(Task* task);  // its tasks are complete
void end_taskgroup(Task* task);

}  // namespace pmemsim::rt
