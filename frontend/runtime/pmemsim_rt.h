// The interface between instrumented code and the recording runtime: C, versioned, small.
//
// The pass inserts calls to these functions; the runtime owns the trace format. A new LLVM changes
// the pass only, a new trace format the runtime only.
//
// Link libpmemsim_rt.a whole (-Wl,--whole-archive) and with -rdynamic into the executable, never
// into a shared library. Shared libraries (instrumented or not) then find these functions and the
// runtime's versions of pthread_mutex_lock, mmap and so on. It needs -lpthread -ldl.
//
// The environment of the program configures the runtime (`pmemsim record` sets it up):
//
//   PMEMSIM_TRACE      the file to write. Not set: the program runs as if it weren't instrumented.
//   PMEMSIM_CONTENTS   a file for the contents of PM at the end (contents.cpp). Not set: no file.
//   PMEMSIM_METADATA   a JSON object whose keys go into the trace's metadata (workload, seed, ...)
//   PMEMSIM_ROI        marked: record from pm_roi_begin() to pm_roi_end(); whole: from main() to
//                      its return. Default: marked if the program contains pm_roi_begin().
//   PMEMSIM_PM_PATH folders, separated by colons: mapped files in these folders are PM
//   PMEMSIM_PM_RANGE LO:HI[,LO:HI...], addresses in hexadecimal: these are PM PMEMSIM_PM_HINT
//   ADDRESS[,...], in hexadecimal: memory requested there from mmap is PM PMEMSIM_PM_HEAP 1: memory
//   of malloc and operator new is PM PMEMSIM_PROCESSES a folder of notes about the recorded process
//   and about processes that are not recorded because another one is. Not set: every process writes
//   PMEMSIM_TRACE. PMEMSIM_PROCESS the name of the process to record. Not set: the first one.
//   PMEMSIM_QUANTUM instructions that a thread runs before the next thread's turn (2000)
//   PMEMSIM_SCHEDULE NUMBER:SEED, the interleaving of the threads (schedules.hpp). Not set, or
//                      number 0: the scheduler's own.
#ifndef PMEMSIM_RT_H
#define PMEMSIM_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMEMSIM_RT_VERSION 3

#define PMEMSIM_RT_NO_TARGET 0xffffffffu

// A site as the pass writes it into the module's constant table. The fields are those of
// trace::SiteRecord, but with pointers to strings and module-local site numbers in the dependences.
struct pmemsim_rt_site {
  uint8_t kind, detail, size, flags;
  uint32_t instructions;
  const char* file;
  const char* function;
  uint32_t line;
  uint32_t inlined_call;  // the innermost one, from 1 in the module's table; 0: none
  uint16_t address_dependences, data_dependences;
  const uint32_t* dependences;  // (local site << 8) | cycles
};

// The fields of trace::InlinedCall, with pointers to strings.
struct pmemsim_rt_inlined_call {
  const char* file;
  const char* function;
  uint32_t line;
  uint32_t outer;
};

struct pmemsim_rt_module {
  uint32_t version;  // PMEMSIM_RT_VERSION
  uint32_t sites;
  const struct pmemsim_rt_site* site;
  uint32_t* base;  // the runtime stores the module's first global site number here
  uint32_t inlined_calls;
  const struct pmemsim_rt_inlined_call* inlined_call;
};

// Called by each instrumented module's constructor, before any other call.
void pmemsim_rt_register(struct pmemsim_rt_module* module);

// In all of these functions, `site` is global: *base + local number.
// Called after the load.
void pmemsim_rt_load(uint32_t site, const volatile void* address);
// Called after the store: the runtime reads the stored bytes back.
void pmemsim_rt_store(uint32_t site, volatile void* address, uint32_t size);
// Called at a function's entry: the call pushed the word at `address`, and returns to `caller` or
// behind it.
void pmemsim_rt_pushed(uint32_t site, volatile void* address, const void* caller);
// Called before the access: gives other threads a turn while this one would spin.
void pmemsim_rt_atomic_before(uint32_t site, const volatile void* address);
void pmemsim_rt_atomic_load(uint32_t site, const volatile void* address, uint32_t size);
void pmemsim_rt_atomic_store(uint32_t site, volatile void* address, uint32_t size);
void pmemsim_rt_atomic_update(uint32_t site, volatile void* address, uint32_t size, int wrote);
// Replace the memory intrinsic or the libc call. `site` is a kExecute site; site + 1 is its
// kCopyLoad and site + 2 its kCopyStore (memset has no loads but the same three sites).
void* pmemsim_rt_memcpy(uint32_t site, void* to, const void* from, uint64_t bytes);
void* pmemsim_rt_memmove(uint32_t site, void* to, const void* from, uint64_t bytes);
void* pmemsim_rt_memset(uint32_t site, void* to, int byte, uint64_t bytes);
// Records a copy that has been made already (rep movs, rep stos); `from` is NULL if it only stores.
// The sites are those of pmemsim_rt_memcpy.
void pmemsim_rt_copied(uint32_t site, void* to, const void* from, uint64_t bytes);
// Record bytes, or a string, that external code has written. They are recorded as stores if they
// are in persistent memory. `site` is a kCopyStore site; `to` may be NULL.
void pmemsim_rt_wrote(uint32_t site, void* to, uint64_t bytes);
void pmemsim_rt_wrote_string(uint32_t site, char* to);
// Records text that external code has written, in any memory.
void pmemsim_rt_printed(uint32_t site, void* to, uint64_t bytes);
// Behind a call that puts text, or a copy of bytes, into a stream.
void pmemsim_rt_put_text(uint32_t site, void* file);
void pmemsim_rt_put_copy(uint32_t site, void* file, const void* from);
void pmemsim_rt_branch(uint32_t site, int taken);
// Called before an indirect call or jump to `target`.
void pmemsim_rt_indirect_branch(uint32_t site, const void* target);
// Called before a jump through a table. `target` is a number that the site gives the target, or
// PMEMSIM_RT_NO_TARGET if the range check before it has failed.
void pmemsim_rt_table_jump(uint32_t site, uint32_t target);
void pmemsim_rt_execute(uint32_t site);
// Called at a loop's head. `loop_carried` is true if the value comes from the previous iteration,
// false if the recurrence begins.
void pmemsim_rt_recurrence(uint32_t site, int loop_carried);
void pmemsim_rt_flush(uint32_t site, const volatile void* address);
void pmemsim_rt_fence(uint32_t site);
// Called around a call to a function of which the compiler has only the name, and which may not be
// instrumented. `callee` is NULL if the code generator calls it. `before` is the first function's
// result. Then come the call's arguments and its result that library_costs.hpp names, or -1.
uint64_t pmemsim_rt_external_before(uint32_t site, const char* name, const void* callee);
void pmemsim_rt_external_after(uint32_t site, uint64_t before, uint64_t first, uint64_t second,
                               uint64_t third, uint64_t result);

// Notes that the recording lacks something, which `text` says. If `address` isn't NULL, only if
// persistent memory is there.
void pmemsim_rt_partial(const char* text, const volatile void* address);

// Records a mark of pmemsim/pm.h (weak in the plain build, see include/pmemsim/pm.h). `mark` is a
// trace::MarkKind.
void pmemsim_rt_mark(uint32_t mark, uint64_t first, uint64_t second);
// Called for locks that the program implements itself, by functions that pm.h's PM_ACQUIRES,
// PM_TRY_ACQUIRES and PM_RELEASES annotate. The thread has acquired the lock (unless a try failed),
// or is about to release it.
void pmemsim_rt_lock_acquired(const volatile void* lock, int acquired);
void pmemsim_rt_lock_released(const volatile void* lock);
// Declares these addresses persistent memory. `source` names its origin ("pm_open", a path).
void pmemsim_rt_pm_region(void* begin, uint64_t bytes, const char* source);

#ifdef __cplusplus
}
#endif
#endif
