// The interface between instrumented code and the recording runtime: C, versioned, small.
//
// The pass inserts calls to these functions; the runtime owns the trace format. A new LLVM changes
// the pass only, a new trace format the runtime only.
//
// Link libpmemsim_rt.a whole (-Wl,--whole-archive) into the executable, never into a shared
// library, with -rdynamic, so that shared libraries (instrumented or not) find these functions and
// the runtime's versions of pthread_mutex_lock, mmap and so on. It needs -lpthread -ldl.
//
// The environment of the program tells the runtime what to do (`pmemsim record` sets it up):
//
//   PMEMSIM_TRACE      the file to write. Not set: the program runs as if it weren't instrumented.
//   PMEMSIM_CONTENTS   a file for what PM holds at the end (contents.cpp). Not set: there is none.
//   PMEMSIM_METADATA   a JSON object whose keys go into the trace's metadata (workload, seed, ...)
//   PMEMSIM_ROI        marked: record from pm_roi_begin() to pm_roi_end(); whole: from main() to
//                      its return. Default: marked if the program contains pm_roi_begin().
//   PMEMSIM_PM_PATH    folders, separated by colons: files mapped from below them are PM
//   PMEMSIM_PM_RANGE   LO:HI[,LO:HI...], addresses in hexadecimal: these are PM
//   PMEMSIM_PM_HINT    ADDRESS[,...], in hexadecimal: what the program asks mmap for there is PM
//   PMEMSIM_PM_HEAP    1: what malloc and operator new give is PM
//   PMEMSIM_PROCESSES  a folder where the process that is recorded and the others, which are not
//                      because it is, leave notes. Not set: every process writes PMEMSIM_TRACE.
//   PMEMSIM_PROCESS    the name of the process to record. Not set: the first one.
//   PMEMSIM_QUANTUM    instructions that a thread runs before it is the next one's turn (2000)
//   PMEMSIM_SCHEDULE   NUMBER:SEED, which interleaving of the threads (schedules.hpp). Not set, and
//                      number 0: the scheduler's own.
#ifndef PMEMSIM_RT_H
#define PMEMSIM_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMEMSIM_RT_VERSION 2

// A site as the pass writes it into the module's constant table (fields as trace::SiteRecord, but
// with pointers to strings and module-local site numbers in the dependences).
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

// As trace::InlinedCall, the same way.
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

// In all of these `site` is global: *base + local number.
// Behind the load.
void pmemsim_rt_load(uint32_t site, const volatile void* address);
// Behind the store: the runtime reads the stored bytes back.
void pmemsim_rt_store(uint32_t site, volatile void* address, uint32_t size);
// At a function's entry: the word at `address` was pushed by the call, which returns to `caller`,
// or behind it.
void pmemsim_rt_pushed(uint32_t site, volatile void* address, const void* caller);
// Before the access: gives other threads their turn while this one would spin.
void pmemsim_rt_atomic_before(uint32_t site, const volatile void* address);
void pmemsim_rt_atomic_load(uint32_t site, const volatile void* address, uint32_t size);
void pmemsim_rt_atomic_store(uint32_t site, volatile void* address, uint32_t size);
void pmemsim_rt_atomic_update(uint32_t site, volatile void* address, uint32_t size, int wrote);
// Instead of the memory intrinsic or the libc call. `site` is that of a kExecute site; site + 1 is
// its kCopyLoad and site + 2 its kCopyStore (memset has no loads but the same three sites).
void* pmemsim_rt_memcpy(uint32_t site, void* to, const void* from, uint64_t bytes);
void* pmemsim_rt_memmove(uint32_t site, void* to, const void* from, uint64_t bytes);
void* pmemsim_rt_memset(uint32_t site, void* to, int byte, uint64_t bytes);
// A copy that has been made already (rep movs, rep stos), `from` is NULL if it only stores. Sites
// as for pmemsim_rt_memcpy.
void pmemsim_rt_copied(uint32_t site, void* to, const void* from, uint64_t bytes);
// What code that is not instrumented has written, or a string that it has written. Recorded as
// stores where it is persistent memory. `site` is a kCopyStore site; `to` may be NULL.
void pmemsim_rt_wrote(uint32_t site, void* to, uint64_t bytes);
void pmemsim_rt_wrote_string(uint32_t site, char* to);
void pmemsim_rt_branch(uint32_t site, int taken);
void pmemsim_rt_execute(uint32_t site);
// At a loop's head. Has the value come round the loop, or does that begin?
void pmemsim_rt_recurrence(uint32_t site, int goes_on);
void pmemsim_rt_flush(uint32_t site, const volatile void* address);
void pmemsim_rt_fence(uint32_t site);
// Around a call to a function that is not instrumented.
void pmemsim_rt_external_before(uint32_t site);
void pmemsim_rt_external_after(uint32_t site);
// The same around a call to a function of which the compiler knows no more than its name: it counts
// as not instrumented if it is in a library without instrumented code.
void pmemsim_rt_foreign_before(uint32_t site, const void* callee);
void pmemsim_rt_foreign_after(uint32_t site);

// What pmemsim/pm.h reports (weak in the plain build, see include/pmemsim/pm.h). `mark` is a
// trace::MarkKind.
void pmemsim_rt_mark(uint32_t mark, uint64_t first, uint64_t second);
// Of a lock that the program has made itself, as the functions say that pm.h's PM_ACQUIRES,
// PM_TRY_ACQUIRES and PM_RELEASES annotate: the thread has it (unless trying was in vain), and the
// thread is about to give it back.
void pmemsim_rt_lock_acquired(const volatile void* lock, int acquired);
void pmemsim_rt_lock_released(const volatile void* lock);
// These addresses are persistent memory. `source` says where from ("pm_open", a path).
void pmemsim_rt_pm_region(void* begin, uint64_t bytes, const char* source);

#ifdef __cplusplus
}
#endif
#endif
