// The part of OMPT, the tools interface of OpenMP 5.1, that the runtime uses. The names and values
// are those of the specification; its header <omp-tools.h> may be missing where pmemsim is built.
#pragma once

#include <cstdint>

namespace pmemsim::rt::ompt {

union Data {
  std::uint64_t value;
  void* pointer;
};

using Interface = void (*)();
using Lookup = Interface (*)(const char* name);

struct StartToolResult {
  int (*initialize)(Lookup lookup, int device, Data* tool);
  void (*finalize)(Data* tool);
  Data tool;
};

enum class Callback : int {
  kParallelBegin = 3,
  kParallelEnd = 4,
  kTaskCreate = 5,
  kTaskSchedule = 6,
  kImplicitTask = 7,
  kSyncRegionWait = 16,
  kMutexReleased = 17,
  kDependences = 18,
  kWork = 20,
  kSyncRegion = 23,
  kLockInit = 24,
  kLockDestroy = 25,
  kMutexAcquire = 26,
  kMutexAcquired = 27,
};
using SetCallback = int (*)(Callback callback, Interface function);

enum class Endpoint : int { kBegin = 1, kEnd = 2, kBeginAndEnd = 3 };

enum class SyncRegion : int {
  kTaskwait = 5,
  kTaskgroup = 6,
  kReduction = 7,
  kEndOfParallel = 9,  // the barrier at the end of a parallel region
};

enum class TaskStatus : int {
  kComplete = 1,
  kYield = 2,
  kCancel = 3,
  kDetach = 4,
  kEarlyFulfill = 5,
  kLateFulfill = 6,
  kSwitch = 7,
  kTaskwaitComplete = 8,
};

inline constexpr int kTaskInitial = 0x1;
inline constexpr int kTaskTaskwait = 0x10;
inline constexpr int kTaskUndeferred = 0x08000000;
inline constexpr int kTaskUntied = 0x10000000;

enum class DependenceType : int {
  kIn = 1,
  kOut = 2,
  kInout = 3,
  kMutexinoutset = 4,
  kSource = 5,
  kSink = 6,
  kInoutset = 7,
  kOutAllMemory = 34,
  kInoutAllMemory = 35,
};
struct Dependence {
  Data variable;
  DependenceType type;
};

}  // namespace pmemsim::rt::ompt
