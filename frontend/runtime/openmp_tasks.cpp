#include "openmp_tasks.hpp"

#include "record.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "status.hpp"

namespace pmemsim::rt {

using ompt::DependenceType;
using trace::SyncKind;

struct Team {
  Team* next_free;
  std::uint64_t id;
  SyncObject fork;
  // A thread may arrive at the next barrier before another has left this one.
  SyncObject barriers[2];
};

struct Group {
  Group* next_free;
  Group* outer;
  std::uint32_t executing;  // tasks that threads execute now, or have suspended
  SyncObject tasks;         // completion of its tasks
};

struct Depends {
  Depends* next_free;
  Depends* next;
  DependenceType type;
  std::uint64_t variable;  // key of its `Variable`
};

namespace {

// A variable of depend clauses: the synchronisation objects that completed tasks have released, by
// the type of their clause.
struct Variable {
  SyncObject in, out, set;
};

Map<Variable*> variables;
std::uint64_t next_id = 0;

// Structures that are used again. Their synchronisation objects get new numbers.
template <class Value>
class Pool {
 public:
  Value* take() {
    Value* value = free_;
    if (value == nullptr) return static_cast<Value*>(allocate(sizeof(Value)));
    free_ = value->next_free;
    *value = Value{};
    return value;
  }
  void give(Value* value) {
    value->next_free = free_;
    free_ = value;
  }

 private:
  Value* free_ = nullptr;
};

Pool<Team> teams;
Pool<Task> tasks;
Pool<Group> groups;
Pool<Depends> clauses;

void release(SyncObject& object, SyncKind kind = SyncKind::kSignal) {
  object.kind = ObjectKind::kTask;
  object.address = &object;
  record_release(kind, object);
}

void acquire(SyncObject& object, SyncKind kind = SyncKind::kWait) {
  if (object.numbered.version > 0) record_acquire(kind, object);
}

// ---- Depend clauses --------------------------------------------------------------------------

std::uint64_t mixed(std::uint64_t key, std::uint64_t value) {
  key = (key ^ value) * 0x9e3779b97f4a7c15u;
  return key ^ (key >> 29);
}

// Returns the variable with this key, made by mixed(): of a parent task and an address, or of a
// loop and an iteration.
Variable& variable_at(std::uint64_t key) {
  Variable*& variable = variables[key | 1];
  if (variable == nullptr) variable = static_cast<Variable*>(allocate(sizeof(Variable)));
  return *variable;
}

// All variables of the task's siblings: for omp_all_memory.
Variable& all_memory(const Task& task) { return variable_at(mixed(task.parent->id, 0)); }

bool is_all_memory(DependenceType type) {
  return type == DependenceType::kOutAllMemory || type == DependenceType::kInoutAllMemory;
}

void acquire_variable(DependenceType type, Variable& variable) {
  acquire(variable.out);
  if (type != DependenceType::kIn) acquire(variable.in);
  if (type != DependenceType::kInoutset) acquire(variable.set);
}

void release_variable(DependenceType type, Variable& variable) {
  switch (type) {
    case DependenceType::kIn:
      return release(variable.in);
    case DependenceType::kInoutset:
      return release(variable.set);
    default:
      return release(variable.out);
  }
}

void acquire_dependences(Task& task) {
  if (task.depends == nullptr) return;
  acquire(all_memory(task).out);
  for (Depends* clause = task.depends; clause != nullptr; clause = clause->next) {
    acquire_variable(clause->type, variable_at(clause->variable));
  }
}

void release_dependences(Task& task) {
  if (task.depends == nullptr) return;
  release(all_memory(task).in);
  for (Depends* clause = task.depends; clause != nullptr; clause = clause->next) {
    release_variable(clause->type, variable_at(clause->variable));
  }
}

void free_dependences(Task& task) {
  for (Depends* clause = task.depends; clause != nullptr;) {
    Depends* next = clause->next;
    clauses.give(clause);
    clause = next;
  }
  task.depends = nullptr;
}

// Iterations of a loop with ordered(n): the vector of loop variables names the iteration.
void order_iteration(const Task& task, const ompt::Dependence* vector, int dimensions) {
  std::uint64_t key = mixed(task.team->id, task.loops);
  for (int i = 0; i < dimensions; ++i) key = mixed(key, vector[i].variable.value);
  Variable& iteration = variable_at(key);
  if (vector[0].type == DependenceType::kSource) {
    release(iteration.out);
  } else {
    acquire(iteration.out);
  }
}

// ---- Tasks that threads execute ----------------------------------------------------------------

constexpr char kAwaitedTask[] = "the end of an OpenMP task";
constexpr int kMostTaskYields =
    1000;  // some siblings may wait for the task that encounters a taskwait

void count(std::uint32_t& executing, SyncObject& waiters, bool begins) {
  executing += begins ? 1 : -1;
  if (executing == 0) wake_all(waiters);
}

void count_executing(Task& task, bool begins) {
  if (task.parent == nullptr || task.undeferred) return;
  count(task.parent->executing, task.parent->children, begins);
  for (Group* group = task.group; group != nullptr; group = group->outer) {
    count(group->executing, group->tasks, begins);
  }
}

}  // namespace

// ---- Teams and their barriers ------------------------------------------------------------------

Team* begin_team() {
  Team* team = teams.take();
  team->id = ++next_id;
  release(team->fork);
  return team;
}

void end_team(Team* team) {
  for (SyncObject& barrier : team->barriers) acquire(barrier, SyncKind::kBarrierWait);
  teams.give(team);
}

void arrive_at_barrier(Task* task) {
  release(task->team->barriers[task->barriers % 2], SyncKind::kBarrierArrive);
}

void leave_barrier(Task* task) {
  acquire(task->team->barriers[task->barriers++ % 2], SyncKind::kBarrierWait);
}

// ---- Tasks -----------------------------------------------------------------------------------

Task* begin_implicit_task(Team* team) {
  Task* task = tasks.take();
  task->id = ++next_id;
  task->team = team;
  task->references = 1;
  task->started = true;
  acquire(team->fork);
  return task;
}

Task* create_task(Task* parent, bool undeferred, bool untied) {
  Task* task = tasks.take();
  task->id = ++next_id;
  task->parent = parent;
  task->team = parent->team;
  task->group = parent->group;
  task->undeferred = undeferred;
  task->untied = untied;
  task->references = 1;
  ++parent->references;
  release(task->steps);
  return task;
}

void add_dependences(Task* task, const ompt::Dependence* list, int count) {
  if (count > 0 &&
      (list[0].type == DependenceType::kSource || list[0].type == DependenceType::kSink)) {
    return order_iteration(*task, list, count);
  }
  for (int i = 0; i < count && task->parent != nullptr; ++i) {
    Depends* clause = clauses.take();
    clause->type = list[i].type;
    const bool all = is_all_memory(list[i].type);
    clause->variable = mixed(task->parent->id, all ? 0 : list[i].variable.value);
    clause->next = task->depends;
    task->depends = clause;
  }
}

void begin_step(Task* task) {
  if (!task->started) acquire_dependences(*task);
  if (!task->started || task->untied) count_executing(*task, true);
  task->started = true;
  acquire(task->steps);
}

void suspend_task(Task* task) {
  release(task->steps);
  if (task->untied) count_executing(*task, false);  // any thread may continue it
}

void detach_task(Task* task) {
  release(task->steps);
  count_executing(*task, false);
  task->undeferred = false;  // the event may complete it in another thread
  task->detached = true;
}

void complete_task(Task* task) {
  // The encountering task continues after an undeferred one, in the same thread.
  if (!task->undeferred) {
    for (SyncObject& barrier : task->team->barriers) release(barrier, SyncKind::kBarrierArrive);
    release(task->parent->children);
    for (Group* group = task->group; group != nullptr; group = group->outer) release(group->tasks);
  }
  release_dependences(*task);
  if (task->started && !task->detached) count_executing(*task, false);
  forget_task(task);
}

void complete_depend_taskwait(Task* task) {
  acquire_dependences(*task);
  forget_task(task);
}

void forget_task(Task* task) {
  while (task != nullptr && --task->references == 0) {
    Task* parent = task->parent;
    free_dependences(*task);
    tasks.give(task);
    task = parent;
  }
}

void end_taskwait(Task* task) { acquire(task->children); }

// ---- Waiting for tasks -----------------------------------------------------------------------

void begin_wait(Task* task, Awaited awaited) {
  task->awaits = awaited;
  continue_wait(task);
}

// Blocking here can't cause a deadlock. A task waits only for tasks that have begun later, since a
// task begins after its ancestors, and after the tasks below it on its thread's stack.
void continue_wait(Task* task) {
  while (task->awaits == Awaited::kChildren && task->executing > 0) {
    wait_at(task->children, kAwaitedTask, 0);
  }
  while (task->awaits == Awaited::kGroup && task->group != nullptr && task->group->executing > 0) {
    wait_at(task->group->tasks, kAwaitedTask, 0);
  }
}

void end_wait(Task* task) { task->awaits = Awaited::kNothing; }

void let_siblings_run(Task* task) {
  for (int yields = 0; yields < kMostTaskYields && task->parent->executing > 0; ++yields) yield();
}

// ---- Taskgroups ------------------------------------------------------------------------------

void begin_taskgroup(Task* task) {
  Group* group = groups.take();
  group->outer = task->group;
  task->group = group;
}

void complete_taskgroup(Task* task) {
  if (task->group != nullptr) acquire(task->group->tasks);
}

void end_taskgroup(Task* task) {
  Group* group = task->group;
  if (group == nullptr) return;
  task->group = group->outer;
  groups.give(group);
}

}  // namespace pmemsim::rt
