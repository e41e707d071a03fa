// The runtime as a tool of OpenMP's library, which calls it at each construct. The constructs'
// meaning is in openmp_tasks.hpp; locks are objects as those of pthread functions.
//
// The library announces the release of a lock only afterwards, when another thread may already have
// acquired it. So each lock has an object with an owner, and an acquiring thread waits for that
// announcement, too.
#include "openmp.hpp"

#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "exported.hpp"
#include "locks.hpp"
#include "objects.hpp"
#include "ompt.hpp"
#include "openmp_library.hpp"
#include "openmp_tasks.hpp"
#include "partial.hpp"
#include "record.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "thread.hpp"

namespace pmemsim::rt {

UnrecordedSync::UnrecordedSync(const void* caller)
    : applies_(is_openmp(caller) && !self->hides_sync) {
  if (applies_) self->hides_sync = true;
}
UnrecordedSync::~UnrecordedSync() {
  if (applies_) self->hides_sync = false;
}

namespace {

// More than a woken thread needs until it waits again or is in the program's code.
constexpr int kMostYields = 8;

}  // namespace

void wait_for_tasks() {
  if (self->openmp_task != nullptr) continue_wait(self->openmp_task);
}

void note_foreign_openmp(const void* caller) {
  dl_find_object object{};
  if (is_openmp(caller) || _dl_find_object(const_cast<void*>(caller), &object) != 0) return;
  const char* path = object.dlfo_link_map->l_name;
  if (std::strstr(path, "libgomp") != nullptr) {
    note_partial(
        "synchronisation by GCC's OpenMP (libgomp) is not recorded; compile its code with "
        "pmemsim-cc -fopenmp");
  } else if (std::strstr(path, "libomp") != nullptr || std::strstr(path, "libiomp") != nullptr) {
    note_partial(
        "synchronisation by OpenMP is not recorded, because the program has an OpenMP tool of its "
        "own (ompt_start_tool); remove it");
  }
}

void note_woken(Thread* thread) { self->woken = thread; }

void free_all_teams() { self->frees_team = has_openmp(); }

void run_woken() {
  Thread* thread = self->woken;
  self->woken = nullptr;
  // Threads that look for tasks also wake others, and must not wait for them.
  if (thread == nullptr || !self->frees_team) return;
  const std::uint64_t before = recorded_operations(*thread);
  for (int yields = 0; yields < kMostYields && thread->state == State::kRunnable &&
                       recorded_operations(*thread) == before;
       ++yields) {
    yield();
  }
}

namespace {

using ompt::Callback;
using ompt::Data;
using ompt::Endpoint;
using ompt::SyncRegion;
using ompt::TaskStatus;

constexpr std::int64_t kCallInstructions = 20;  // charged for each construct

// Virtual nanoseconds after which a lock counts as released though that was not announced.
constexpr std::uint64_t kLongestAnnouncement = 1'000'000;

Task* task_of(const Data* data) {
  return data != nullptr ? static_cast<Task*>(data->pointer) : nullptr;
}

// ---- Teams, tasks and barriers -----------------------------------------------------------------

void parallel_begin(Data*, const void*, Data* parallel, unsigned, int, const void*) {
  if (active()) parallel->pointer = begin_team();
}

void parallel_end(Data* parallel, Data*, int, const void*) {
  if (!active()) return;
  self->frees_team = false;
  if (parallel->pointer == nullptr) return;
  end_team(static_cast<Team*>(parallel->pointer));
  parallel->pointer = nullptr;
}

void implicit_task(Endpoint endpoint, Data* parallel, Data* data, unsigned, unsigned, int) {
  if (!active()) return;
  if (endpoint == Endpoint::kBegin) {
    self->frees_team = false;
    if (parallel->pointer == nullptr) parallel->pointer = begin_team();
    data->pointer = begin_implicit_task(static_cast<Team*>(parallel->pointer));
  } else if (Task* task = task_of(data)) {
    data->pointer = nullptr;
    forget_task(task);
  }
}

void task_create(Data* encountering, const void*, Data* created, int flags, int, const void*) {
  Task* parent = task_of(encountering);
  if (!active() || parent == nullptr) return;
  created->pointer =
      create_task(parent, (flags & ompt::kTaskUndeferred) != 0, (flags & ompt::kTaskUntied) != 0);
  static_cast<Task*>(created->pointer)->is_taskwait = (flags & ompt::kTaskTaskwait) != 0;
}

void dependences(Data* data, const ompt::Dependence* list, int count) {
  Task* task = task_of(data);
  if (!active() || task == nullptr) return;
  add_dependences(task, list, count);
  if (task->is_taskwait) let_siblings_run(task);
}

// Ends a step of the task, or the task.
void leave_task(Data* data, TaskStatus status) {
  Task* task = task_of(data);
  if (task == nullptr) return;
  if (status == TaskStatus::kComplete || status == TaskStatus::kCancel) {
    data->pointer = nullptr;
    complete_task(task);
  } else if (status == TaskStatus::kDetach) {
    detach_task(task);
  } else {
    suspend_task(task);
  }
}

void task_schedule(Data* prior, TaskStatus status, Data* next) {
  if (!active()) return;
  Task* task = task_of(prior);
  if (status == TaskStatus::kTaskwaitComplete) {
    if (task == nullptr) return;
    prior->pointer = nullptr;
    return complete_depend_taskwait(task);
  }
  if (status == TaskStatus::kEarlyFulfill || status == TaskStatus::kLateFulfill) {
    if (task == nullptr) return;
    if (status == TaskStatus::kEarlyFulfill) return suspend_task(task);
    begin_step(task);  // its body has ended in another thread
    prior->pointer = nullptr;
    return complete_task(task);
  }
  leave_task(prior, status);
  self->openmp_task = task_of(next);
  if (self->openmp_task != nullptr) begin_step(self->openmp_task);
}

void begin_sync_region(SyncRegion kind, Task* task) {
  switch (kind) {
    case SyncRegion::kTaskgroup:
      return begin_taskgroup(task);
    case SyncRegion::kTaskwait:
    case SyncRegion::kReduction:
      return;
    default:
      return arrive_at_barrier(task);
  }
}

void end_sync_region(SyncRegion kind, Task* task) {
  switch (kind) {
    case SyncRegion::kTaskgroup:
      return end_taskgroup(task);
    case SyncRegion::kTaskwait:
      return end_taskwait(task);
    case SyncRegion::kReduction:
      return;
    case SyncRegion::kEndOfParallel:  // parallel_end() is the wait; the team may have ended
      self->frees_team = true;
      return;
    default:
      return leave_barrier(task);
  }
}

void sync_region(SyncRegion kind, Endpoint endpoint, Data*, Data* data, const void*) {
  Task* task = task_of(data);
  if (!active() || task == nullptr) return;
  if (endpoint != Endpoint::kEnd) begin_sync_region(kind, task);
  if (endpoint != Endpoint::kBegin) end_sync_region(kind, task);
  charge(kCallInstructions);
}

// A taskgroup's reductions are combined after the wait, and before the region's end.
void sync_region_wait(SyncRegion kind, Endpoint endpoint, Data*, Data* data, const void*) {
  Task* task = task_of(data);
  const bool is_group = kind == SyncRegion::kTaskgroup;
  if (!active() || task == nullptr || (!is_group && kind != SyncRegion::kTaskwait)) return;
  if (endpoint != Endpoint::kEnd) {
    self->openmp_task = task;
    begin_wait(task, is_group ? Awaited::kGroup : Awaited::kChildren);
  }
  if (endpoint != Endpoint::kBegin) {
    end_wait(task);
    if (is_group) complete_taskgroup(task);
  }
}

void work(int, Endpoint endpoint, Data*, Data* data, std::uint64_t, const void*) {
  Task* task = task_of(data);
  if (active() && task != nullptr && endpoint != Endpoint::kEnd) ++task->loops;
}

// ---- Locks, critical and ordered regions -------------------------------------------------------

SyncObject& lock_at(std::uint64_t wait_id) {
  return object_at(reinterpret_cast<const volatile void*>(wait_id), ObjectKind::kMutex);
}

void lock_begins_or_ends(std::uint64_t wait_id) {
  if (active()) forget_object(reinterpret_cast<const volatile void*>(wait_id));
}
void lock_init(int, unsigned, unsigned, std::uint64_t wait_id, const void*) {
  lock_begins_or_ends(wait_id);
}
void lock_destroy(int, std::uint64_t wait_id, const void*) { lock_begins_or_ends(wait_id); }

void mutex_acquire(int, unsigned, unsigned, std::uint64_t wait_id, const void*) {
  if (active()) begin_use(lock_at(wait_id));
}

void mutex_acquired(int, std::uint64_t wait_id, const void*) {
  if (!active()) return;
  SyncObject& lock = lock_at(wait_id);
  if (lock_object(lock, "the OpenMP lock", now() + kLongestAnnouncement) != 0) {
    lock.owner = nullptr;
    lock_object(lock, "the OpenMP lock", 0);
  }
  charge(kCallInstructions);
}

void mutex_released(int, std::uint64_t wait_id, const void*) {
  if (!active()) return;
  SyncObject& lock = lock_at(wait_id);
  if (lock.owner != nullptr) unlock_object(lock);
  charge(kCallInstructions);
}

// ---- The tool --------------------------------------------------------------------------------

template <class Function>
void set(ompt::SetCallback set_callback, Callback callback, Function* function) {
  set_callback(callback, reinterpret_cast<ompt::Interface>(function));
}

// The library copies its environment to the heap, so that the addresses of later allocations would
// depend on the environment's size. It gets only the variables that it reads.
char** whole_environment = nullptr;

bool is_read_by_openmp(const char* variable) {
  for (const char* beginning : {"OMP_", "KMP_", "GOMP_", "LIBOMP", "INTEL_"}) {
    if (std::strncmp(variable, beginning, std::strlen(beginning)) == 0) return true;
  }
  return false;
}

void shorten_environment() {
  std::size_t count = 0;
  while (environ[count] != nullptr) ++count;
  auto** kept = static_cast<char**>(allocate((count + 1) * sizeof(char*)));
  whole_environment = environ;
  for (char** variable = std::exchange(environ, kept); *variable != nullptr; ++variable) {
    if (is_read_by_openmp(*variable)) *kept++ = *variable;
  }
}

int initialize(ompt::Lookup lookup, int, Data*) {
  environ = whole_environment;
  const auto set_callback = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  set(set_callback, Callback::kParallelBegin, &parallel_begin);
  set(set_callback, Callback::kParallelEnd, &parallel_end);
  set(set_callback, Callback::kImplicitTask, &implicit_task);
  set(set_callback, Callback::kTaskCreate, &task_create);
  set(set_callback, Callback::kTaskSchedule, &task_schedule);
  set(set_callback, Callback::kDependences, &dependences);
  set(set_callback, Callback::kSyncRegion, &sync_region);
  set(set_callback, Callback::kSyncRegionWait, &sync_region_wait);
  set(set_callback, Callback::kWork, &work);
  set(set_callback, Callback::kLockInit, &lock_init);
  set(set_callback, Callback::kLockDestroy, &lock_destroy);
  set(set_callback, Callback::kMutexAcquire, &mutex_acquire);
  set(set_callback, Callback::kMutexAcquired, &mutex_acquired);
  set(set_callback, Callback::kMutexReleased, &mutex_released);
  return 1;  // stay active
}

void finalize(Data*) {}

ompt::StartToolResult tool{&initialize, &finalize, {}};

}  // namespace
}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// All of these functions are weak: the program may be linked with a static OpenMP library, or have
// a tool of its own.
#define PMEMSIM_WEAK extern "C" __attribute__((visibility("default"), weak))

// Called by OpenMP's library when it starts.
PMEMSIM_WEAK ompt::StartToolResult* ompt_start_tool(unsigned, const char*) {
  note_openmp_library(__builtin_return_address(0));
  if (mode == Mode::kOff || !is_recorded_process()) return nullptr;
  shorten_environment();
  return &tool;
}

// ---- Reductions ------------------------------------------------------------------------------
//
// The library decides how a team combines its values, and does not announce the lock that it uses.
// The functions below always decide for a critical region, which is the program's own code.

namespace {

using ReduceFunction = void (*)(void*, void*);
using Reduce = int (*)(void*, int, int, std::size_t, void*, ReduceFunction, void*);
using EndReduce = void (*)(void*, int, void*);
using Barrier = void (*)(void*, int);

constexpr int kCombineInCriticalRegion = 1;

template <class Function>
Function real_function(const char* name) {
  return reinterpret_cast<Function>(openmp_function(name));
}

int begin_reduction(void* lock) {
  SyncObject& object = object_at(lock, ObjectKind::kMutex);
  begin_use(object);
  lock_object(object, "the OpenMP reduction", 0);
  charge(kCallInstructions);
  return kCombineInCriticalRegion;
}

// Returns false if the library began the reduction.
bool end_reduction(void* lock) {
  if (!active()) return false;
  SyncObject& object = object_at(lock, ObjectKind::kMutex);
  if (object.owner != self) return false;
  unlock_object(object);
  charge(kCallInstructions);
  return true;
}

}  // namespace

PMEMSIM_WEAK int __kmpc_reduce_nowait(void* place, int thread, int count, std::size_t bytes,
                                      void* data, ReduceFunction reduce, void* lock) {
  static const auto next = real_function<Reduce>("__kmpc_reduce_nowait");
  if (active()) return begin_reduction(lock);
  return next(place, thread, count, bytes, data, reduce, lock);
}
PMEMSIM_WEAK void __kmpc_end_reduce_nowait(void* place, int thread, void* lock) {
  static const auto next = real_function<EndReduce>("__kmpc_end_reduce_nowait");
  if (!end_reduction(lock)) next(place, thread, lock);
}
PMEMSIM_WEAK int __kmpc_reduce(void* place, int thread, int count, std::size_t bytes, void* data,
                               ReduceFunction reduce, void* lock) {
  static const auto next = real_function<Reduce>("__kmpc_reduce");
  if (active()) return begin_reduction(lock);
  return next(place, thread, count, bytes, data, reduce, lock);
}
PMEMSIM_WEAK void __kmpc_end_reduce(void* place, int thread, void* lock) {
  static const auto next = real_function<EndReduce>("__kmpc_end_reduce");
  static const auto barrier = real_function<Barrier>("__kmpc_barrier");
  if (end_reduction(lock)) {
    barrier(place, thread);
  } else {
    next(place, thread, lock);
  }
}
