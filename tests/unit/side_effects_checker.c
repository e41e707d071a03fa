// A library whose checks do what their image tells them: its first word is what, its second one
// what to return. Whatever it was before, each check must find this process as it was when the
// library was loaded: returns 100 and more if not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pmemsim/check.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "side_effects.h"

enum { STACK_WORDS = 1000, DEEP_BYTES = 200000 };

static uint64_t calls;
static __thread uint64_t calls_of_thread;
static uint64_t* loaded;
static volatile double one = 1, three = 3;

static sigjmp_buf before_fault;
static void jump_back(int signal) { siglongjmp(before_fault, signal); }

static void jump_back_from_faults(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = jump_back;
  sigaction(SIGSEGV, &action, NULL);
}

static int fault(void) {
  const int signal = sigsetjmp(before_fault, 1);
  if (signal == 0) *(volatile int*)8 = 1;
  return signal == SIGSEGV ? 0 : 100;
}

__attribute__((constructor)) static void load(void) {
  loaded = malloc(sizeof(*loaded));
  *loaded = 1;
  if (getenv("HANDLES_FAULTS") != NULL) jump_back_from_faults();
}

// The list in the environment becomes its first word.
static int cut_variable(void) {
  char* list = getenv("LIST");
  if (list == NULL || strcmp(list, "a,b") != 0) return 100;
  list[1] = '\0';
  return 0;
}

static int as_loaded(void) {
  const volatile double third = one / three;
  return calls == 0 && *loaded == 1 && errno == 0 && third == 0x1.5555555555555p-2;
}

// Uses the memory, as far as compilers can tell.
static void use(const volatile void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

static int allocate(void) {
  const void* memory = malloc(1 << 20);
  use(memory);
  return memory != NULL;
}

// Writes to the stack, or says what it finds there.
__attribute__((noinline)) static uint64_t use_stack(uint64_t written) {
  volatile uint64_t words[STACK_WORDS];
  uint64_t found = 0;
  for (int i = 0; i < STACK_WORDS; ++i) {
    if (written != 0) {
      words[i] = written;
    } else {
      found |= words[i];
    }
  }
  return found;
}

// Each call needs what the one above has on the stack.
__attribute__((noinline)) static int go_deep(uint64_t bytes, const volatile char* above) {
  volatile char here[1024];
  here[0] = *above;
  here[1] = bytes < sizeof(here) ? here[0] : (char)go_deep(bytes - sizeof(here), here);
  return here[1];
}

// Works for some milliseconds.
static int work(void) {
  volatile int left = 20000000;
  while (left > 0) --left;
  return left;
}

// Far below all that the stack has had.
__attribute__((noinline)) static int leap(void) {
  volatile char far[DEEP_BYTES];
  use(far);
  far[0] = 1;
  return far[0];
}

// The kernel says it where this thread has told it to, if libc does that; behind a system call.
static int knows_core(void) {
  if (getppid() < 0 || sched_getcpu() < 0) return 0;
#if __has_include(<sys/rseq.h>)
  const struct rseq* told;
  __asm__("mov %%fs:0, %0" : "=r"(told));
  told = (const struct rseq*)((const char*)told + __rseq_offset);
  return __rseq_size == 0 || (int32_t)told->cpu_id >= 0;
#else
  return 1;
#endif
}

static void* write_by_thread(void* to) {
  *(uint64_t*)to = 2;
  return to;
}

static int start_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, write_by_thread, loaded) != 0) return 100;
  pthread_join(thread, NULL);
  return *loaded == 2 ? 0 : 100;
}

// The number of a file that is opened is the first one that is free.
static int open_file(void) {
  const int before = open("/dev/null", O_RDONLY), behind = open("/dev/null", O_RDONLY);
  return before >= 3 && behind == before + 1 && behind < 50 ? 0 : 100;
}

static int signals_are_by_default(void) {
  struct sigaction fault, call;
  stack_t stack;
  sigset_t blocked;
  sigaction(SIGSEGV, NULL, &fault);
  sigaction(SIGSYS, NULL, &call);
  sigaltstack(NULL, &stack);
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  return fault.sa_handler == SIG_DFL && call.sa_handler == SIG_DFL &&
                 (stack.ss_flags & SS_DISABLE) != 0 && !sigismember(&blocked, SIGSEGV)
             ? 0
             : 100;
}

static int handle_fault(void) {
  jump_back_from_faults();
  return fault();
}

static int scribble(const struct pmemsim_region* region) {
  const uint64_t first = *(uint64_t*)region->bytes;
  memset((char*)region->bytes + 8, 0xff, region->size - 8);
  return *(uint64_t*)region->bytes == first ? 0 : 100;
}

static int unmap(const struct pmemsim_region* region) {
  return munmap(region->bytes, region->size) == 0 ? 0 : 100;
}

static int act(enum action action, const struct pmemsim_region* region) {
  const volatile char top = 1;
  switch (action) {
    case QUIET:
      return 0;
    case WORK:
      return work();
    case COUNT:
      return ++calls == 1 ? 0 : 100;
    case COUNT_BY_THREAD:
      return ++calls_of_thread == 1 ? 0 : 100;
    case WRITE:
      *loaded = 3;
      return 0;
    case ALLOCATE:
      return allocate() ? 0 : 100;
    case FAIL:
      errno = ENOENT;
      return 0;
    case FILL_STACK:
      return use_stack(7) == 0 ? 0 : 100;
    case FIND_STACK:
      return use_stack(0) == 0 ? 0 : 100;
    case GO_DEEP:
      return go_deep(DEEP_BYTES, &top) == 1 ? 0 : 100;
    case GO_TOO_DEEP:
      return go_deep(UINT64_MAX, &top);
    case LEAP:
      return leap() == 1 ? 0 : 100;
    case ROUND:
      return fesetround(FE_UPWARD);
    case OPEN:
      return open_file();
    case START:
      return start_thread();
    case ASK:
      return signals_are_by_default();
    case ASK_CORE:
      return knows_core() ? 0 : 100;
    case HANDLE:
      return handle_fault();
    case SCRIBBLE:
      return scribble(region);
    case UNMAP:
      return unmap(region);
    case SAY:
      return puts("said") >= 0 ? 0 : 100;
    case FAULT_HANDLED:
      return fault();
    case CUT_VARIABLE:
      return cut_variable();
    case FAULT:
      return *(volatile int*)8;
    case ABORT:
      abort();
    case EXIT:
      exit(0);
    case HANG:
      for (;;) sched_yield();
    case SPIN:
      while (one == 1) {
      }
  }
  return 100;
}

int pmemsim_check(const struct pmemsim_region* regions, size_t count) {
  if (count != 1 || !as_loaded()) return 101;
  uint64_t words[2];
  memcpy(words, regions[0].bytes, sizeof(words));
  const int status = act((enum action)words[0], &regions[0]);
  return status == 0 ? (int)words[1] : status;
}
