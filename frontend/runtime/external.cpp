// Counts the instructions that code without instrumentation executes. The processor traps after
// each one (trap flag), for the first calls from each site and a few later ones. Every other call
// counts as the average of the stepped calls.
//
// The selection of stepped calls depends on counts of calls and instructions alone, so that a
// recording can be repeated.
#include "external.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "exported.hpp"
#include "pmemsim_rt.h"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "watchdog.hpp"

namespace pmemsim::rt {
namespace {

constexpr std::uint64_t kFirstCalls = 2;       // per site: always stepped, if the first is short
constexpr std::uint64_t kShortCall = 1'000;    // instructions of a short call
constexpr std::uint64_t kDenseCalls = 16;      // calls stepped while the budget allows it
constexpr std::uint64_t kSamplingPeriod = 64;  // later, one call in so many is stepped
// A step takes about ten microseconds, a thousand times as long as recording an instruction. Beyond
// a fixed number of steps that every program may use, at most one instruction in
// kInstructionsPerStep is stepped.
constexpr std::uint64_t kInstructionsPerStep = 65536;
constexpr std::uint64_t kFreeSteps = 2'000;
// Limit for one call; its instructions beyond the limit aren't counted.
constexpr std::uint64_t kMaxSteps = 10'000;
constexpr std::uint64_t kTrapFlag = 0x100;

struct Site {
  std::uint64_t calls, samples, instructions;
  bool calls_back;  // calls instrumented code: can't be stepped
};
Map<Site> external_sites;
std::uint64_t total_steps = 0;
bool works = false;

__attribute__((always_inline)) inline void set_trap_flag() {
  // Skips the 128 bytes below the stack pointer first, since a leaf function may use them (red
  // zone).
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
               :
               : "i"(kTrapFlag)
               : "memory", "cc");
}
__attribute__((always_inline)) inline void clear_trap_flag() {
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
               :
               : "i"(~kTrapFlag)
               : "memory", "cc");
}

// Ends stepping of a call that can't be counted.
void forget_steps() {
  self->stepping = false;
  total_steps += self->steps;
  external_sites[self->external_site].calls_back = true;
  hot = self->hot_before_stepping;
}

void on_watchdog(void* context) {
  if (self == nullptr || self->signals > 0) return;
  if (!resume_sleep(context) && !waits_in_loop(context)) return;
  const int error = errno;
  if (self->stepping) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &=
        ~static_cast<greg_t>(kTrapFlag);
    forget_steps();
  }
  lose_token();
  errno = error;
}

// True if the code is about to block all signals. The C library does so in some places, by a system
// call that can't be intercepted (glibc 2.41 as it gets its first random number). A trap would then
// end the program.
bool about_to_mask_signals(const greg_t* registers) {
  if (registers[REG_RAX] != SYS_rt_sigprocmask) return false;
  const auto* next = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  return next[0] == 0x0f && next[1] == 0x05;  // syscall
}

// True if the next instruction is the first of external_after() or foreign_after().
bool is_behind_call(std::uintptr_t next) {
  return next == reinterpret_cast<std::uintptr_t>(&pmemsim_rt_external_after) ||
         next == reinterpret_cast<std::uintptr_t>(&pmemsim_rt_foreign_after);
}

// Counts an instruction if the stack is deeper than the caller's. The runtime's own instructions
// aren't counted. Instructions that pass arguments aren't counted either, since the pass has
// counted them. (So the call itself counts, and the last return doesn't.)
void count_step(std::uintptr_t next, std::uintptr_t stack) {
  if (next == self->caller) self->caller_stack = stack;
  if (stack < self->caller_stack) ++self->steps_in_call;
}

// Handles a trap of the processor after one instruction, or the watchdog's signal.
void on_trap(int, siginfo_t* information, void* context) {
  if (information->si_code == SI_TKILL) return on_watchdog(context);
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto next = static_cast<std::uintptr_t>(registers[REG_RIP]);
  if (self == nullptr || !self->stepping || ++self->steps == kMaxSteps || is_behind_call(next) ||
      about_to_mask_signals(registers)) {
    registers[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
    return;
  }
  count_step(next, static_cast<std::uintptr_t>(registers[REG_RSP]));
}

bool should_step(const Site& site) {
  if (!works || site.calls_back) return false;
  if (site.calls < kFirstCalls && site.instructions < kShortCall) return true;
  if (site.calls >= kDenseCalls && site.calls % kSamplingPeriod != 0) return false;
  return total_steps < kFreeSteps + now() / kInstructionsPerStep;
}

__attribute__((noinline)) void begin_steps() {
  self->steps = self->steps_in_call = self->caller_stack = 0;
  self->stepping = true;
  set_trap_flag();
}

__attribute__((noinline)) void end_steps() {
  self->stepping = false;
  clear_trap_flag();
  total_steps += self->steps;
}

// The callee of a direct call, which is always the same.
enum class Callee : std::uint8_t { kUnknown, kOwn, kForeign };
Callee* callees = nullptr;  // index: site

// True for libraries whose countable functions the pass knows. Functions of other libraries may
// wait for other threads, run for a time that depends on the machine, or call back.
bool is_known_library(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  for (const char* known :
       {"libc.so", "libpthread", "libdl.so", "librt.so", "ld-linux", "linux-vdso", "libstdc++",
        "libc++", "libgcc_s", "libgomp", "libomp", "libiomp"}) {
    if (std::strncmp(name, known, std::strlen(known)) == 0) return true;
  }
  return false;
}

Callee kind_of(const void* callee) {
  dl_find_object object{};
  if (_dl_find_object(const_cast<void*>(callee), &object) != 0) return Callee::kOwn;
  const bool own = is_recorded_code(callee) || is_known_library(object.dlfo_link_map->l_name);
  return own ? Callee::kOwn : Callee::kForeign;
}

// Starts stepping at a call of code without instrumentation. `caller` is the address at which the
// program continues, before that call.
void external_begins(std::uint32_t site, const void* caller) {
  if (should_step(external_sites[site])) {
    self->external_site = site;
    self->caller = reinterpret_cast<std::uintptr_t>(caller);
    // Instrumented code that runs before external_after() finds no space for its records, and
    // thereby ends the stepping.
    self->hot_before_stepping = hot;
    hot.cursor = hot.limit = nullptr;
    begin_steps();
  }
}

}  // namespace

void configure_stepping() {
  if (records_checker) return;
  struct sigaction action{};
  action.sa_sigaction = &on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  // Other signals are then handled at the instruction where the thread sleeps.
  sigfillset(&action.sa_mask);
  if (real.sigaction(SIGTRAP, &action, nullptr) != 0) return;
  begin_steps();
  end_steps();
  works = self->steps > 0;
  total_steps = 0;
}

const char* external_method() {
  return works ? "single-stepped samples, at most 10000 instructions a call"
               : "not counted: single-stepping is impossible here";
}

void stop_stepping() {
  clear_trap_flag();
  forget_steps();
}

NotStepping::NotStepping() : was_stepping_(self != nullptr && self->stepping) {
  if (was_stepping_) clear_trap_flag();
}
NotStepping::~NotStepping() {
  if (was_stepping_) set_trap_flag();
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT void pmemsim_rt_external_before(std::uint32_t site) {
  pmemsim_rt_execute(site);
  if (recording() && active()) external_begins(site, __builtin_return_address(0));
}

PMEMSIM_EXPORT void pmemsim_rt_external_after(std::uint32_t site) {
  if (!recording() || !active()) return;
  Site& called = external_sites[site];
  if (self->stepping) {
    end_steps();
    hot = self->hot_before_stepping;
    ++called.samples;
    called.instructions += self->steps_in_call;
    ++called.calls;
    return put_external(self->steps_in_call);
  }
  ++called.calls;
  // The instructions of a function that has called back are partly recorded already: their count is
  // unknown.
  if (called.samples > 0 && !called.calls_back) put_external(called.instructions / called.samples);
}

PMEMSIM_EXPORT void pmemsim_rt_foreign_before(std::uint32_t site, const void* callee) {
  pmemsim_rt_execute(site);
  if (!recording() || !active()) return;
  if (callees == nullptr) {
    callees = static_cast<Callee*>(allocate(pmemsim::trace::kMaxSites * sizeof(Callee)));
  }
  if (callees[site] == Callee::kUnknown) callees[site] = kind_of(callee);
  if (callees[site] == Callee::kForeign) external_begins(site, __builtin_return_address(0));
}

PMEMSIM_EXPORT void pmemsim_rt_foreign_after(std::uint32_t site) {
  if (callees != nullptr && callees[site] == Callee::kForeign) pmemsim_rt_external_after(site);
}
