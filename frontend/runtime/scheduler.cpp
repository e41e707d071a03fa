// Moves the token: decides which thread runs, and until when.
//
// The rules make a recording depend on the program alone:
// 1. The next turn goes to the thread with the least progress; among equals, to the next in order
//    of creation. A turn lasts a quantum of instructions. A thread's progress is the instructions
//    that it has executed; a wait sets it to the progress of the thread that ended it.
// 2. A thread that waits for another (a lock, a condition, a spin on an atomic, a descriptor that
//    isn't ready) ends its turn. It gets no turn until the awaited event has happened.
// 3. Time passes by instructions: one nanosecond each, of all threads together. A deadline passes
//    when the clock has reached it; if no thread can run, the clock jumps to the next deadline.
// 4. A thread that sleeps in code that the runtime doesn't see loses its turn (watchdog.cpp), and
//    queues for another when it returns. This is the only rule that depends on real time.
// 5. A spinning thread gets a turn at intervals (kLongestSpin) even if the bytes that it reads are
//    unchanged, because it may count its tries. It also gets a turn whenever no other thread can
//    run.
// 6. A thread that is ahead of another ends its turn before it uses an object that both use
//    (contention.hpp). A thread that has ended another thread's spin ends its turn there, too: a
//    spinning processor reads the variable all the time, and has its line before the next store.
// 7. For schedules other than the first, schedules.hpp defines how long turns last, and which
//    thread is next.
// 8. A thread can be held behind one of its operations (holds.hpp).
#include "scheduler.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "external.hpp"
#include "holds.hpp"
#include "objects.hpp"
#include "real.hpp"
#include "record.hpp"
#include "reserved_memory.hpp"
#include "schedules.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "threads.hpp"
#include "turns.hpp"

namespace pmemsim::rt {

constinit thread_local Hot hot __attribute__((tls_model("initial-exec"))){};
constinit thread_local Thread* self __attribute__((tls_model("initial-exec")));

// Length of a turn: the divergence of threads that use no common object. With half this quantum,
// recording four threads takes 50% longer (a switch costs about ten microseconds).
std::int64_t quantum = 2000;
List<Thread*, 1u << 20> threads;

namespace {

constexpr std::uint64_t kLongestSpin = 100'000;  // rule 5, in nanoseconds
constexpr std::int64_t kLead = 100;  // rule 6, in instructions: about a short critical section
constexpr int kIdlePollMilliseconds = 10;  // real time, when all threads wait for an outside event
constexpr std::size_t kWipedBytes = 2048;  // more than blocking calls of the C library use

// The number of instructions until the end of the turn is checked: a quantum. It is negative if
// every operation may be the last (some have no instruction of their own).
std::int64_t budget_slice = 0;  // until configured
std::int64_t turn_so_far = 0;   // instructions of the current turn in earlier slices

std::uint64_t clock_base = 0;  // virtual nanoseconds up to the current turn
Thread* just_ended = nullptr;
Thread* holder = nullptr;  // holder of the token; nullptr during a transfer
Thread* held = nullptr;    // thread that is held behind an operation (rule 8)
// Held while the watchdog reads the holder's `hot`, whose lifetime is that of its thread.
pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
std::uint64_t turns = 0;            // before the current one
int waiting = 0;                    // instances of Waiting
std::int32_t resuming_threads = 0;  // futex: counts the threads that call resume_execution()
std::uint64_t lost_tokens = 0;
List<Thread*, 1u << 20> live;  // in order of creation; Thread::slot is the index

long futex(std::int32_t* word, int operation, std::int32_t value,
           const timespec* timeout = nullptr) {
  return real.syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

// Overwrites the bytes that calls have left on the stack below. These bytes depend on whether the
// calls had to wait, and a program may store them (in a structure's padding, for example).
__attribute__((noinline)) void wipe_stack() {
  std::size_t words = kWipedBytes / sizeof(std::uint64_t);
  std::uint64_t* at;
  asm volatile("mov %%rsp, %0" : "=r"(at));
  at -= words;
  asm volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(0) : "memory");
}

void set_holder(Thread* thread) { __atomic_store_n(&holder, thread, __ATOMIC_RELEASE); }

// The next thread becomes the holder only when it is awake. If it became the holder earlier, the
// watchdog would find a sleeping holder and make it pass on a token that it doesn't have yet.
void hand_token_to(Thread* thread) {
  set_holder(nullptr);
  __atomic_store_n(&thread->turn, 1, __ATOMIC_RELEASE);
  futex(&thread->turn, FUTEX_WAKE_PRIVATE, 1);
}

void note_end_of_turn() { note_turn(*self, turns++); }

void hand_on(Thread* next) {
  note_end_of_turn();
  hand_token_to(next);
}

void take_token() {
  while (__atomic_load_n(&self->turn, __ATOMIC_ACQUIRE) == 0) {
    futex(&self->turn, FUTEX_WAIT_PRIVATE, 0);
  }
  self->turn = 0;
  set_holder(self);
  if (Thread* thread = just_ended) {
    just_ended = nullptr;
    const Waiting waits;
    reap(thread);
  }
  wipe_stack();
}

bool changed(const Thread& thread) {
  return std::memcmp(const_cast<const void*>(thread.watched), thread.watched_value,
                     thread.watched_bytes) != 0;
}

bool ready(const Thread& thread, int milliseconds) {
  pollfd descriptor{thread.descriptor, thread.events, 0};
  return real.poll(&descriptor, 1, milliseconds) != 0;  // an error also counts as ready
}

bool past_deadline(const Thread& thread) {
  return thread.deadline != 0 && thread.deadline <= clock_base;
}

// Returns the progress of the holder of the token.
std::uint64_t own_progress() {
  return self->progress + static_cast<std::uint64_t>(budget_slice - hot.budget);
}

void end_wait(Thread& thread, bool timed_out) {
  // The instructions of a spin aren't progress.
  const bool spun = thread.state == State::kSpinning && !timed_out;
  if (spun || thread.progress < own_progress()) thread.progress = own_progress();
  thread.state = State::kRunnable;
  thread.deadline = 0;
  thread.timed_out = timed_out;
}

// True if the thread can run. Ends a wait that is over.
bool can_run(Thread& thread) {
  bool over = false;
  switch (thread.state) {
    case State::kRunnable:
      return true;
    case State::kSpinning:
      over = changed(thread);
      break;
    case State::kPolling:
      over = ready(thread, 0);
      break;
    case State::kBlocked:
      break;
    case State::kOutside:
    case State::kEnded:
      return false;
  }
  if (!over && !past_deadline(thread)) return false;
  end_wait(thread, !over);
  return true;
}

// Visits all threads once, beginning behind `from`; returns the first that `accepts`, or nullptr.
template <class Accepts>
Thread* first_behind(std::uint32_t from, Accepts accepts) {
  const auto count = static_cast<std::uint32_t>(live.size());
  for (std::uint32_t step = 1; step <= count; ++step) {
    Thread* thread = live[(from + step) % count];
    if (accepts(*thread)) return thread;
  }
  return nullptr;
}

[[noreturn]] void report_deadlock() {
  say("%s is deadlocked: every thread waits for another", program_name);
  for (Thread* thread : live) {
    if (thread->state != State::kBlocked) continue;
    char location[256];
    describe_site(last_site(*thread), location, sizeof(location));
    char holder[64] = "";
    describe_holder(thread->waits_at, holder, sizeof(holder));
    say("  thread %u waits for %s%s, near %s", thread->index, thread->waits_for, holder, location);
  }
  fail("the deadlock is in the program; no trace was written");
}

// Returns a random one of the other threads that can run now; nullptr: none can.
Thread* any_other() {
  Thread* chosen = nullptr;
  std::uint64_t seen = 0;
  first_behind(self->slot, [&](Thread& thread) {
    if (&thread != self && can_run(thread) && draw(++seen) == 0) chosen = &thread;
    return false;
  });
  return chosen;
}

// Returns the thread with the least progress of those that can run now; nullptr: none can.
Thread* least_advanced() {
  Thread* next = nullptr;
  const auto count = static_cast<std::uint32_t>(live.size());
  for (std::uint32_t step = 1; step <= count; ++step) {
    Thread* thread = live[(self->slot + step) % count];
    if (!can_run(*thread)) continue;
    if (next == nullptr || thread->progress < next->progress) next = thread;
  }
  return next;
}

// Returns the next thread of those that can run now; nullptr: none can.
Thread* runnable() {
  if (walks_at_random()) {
    if (Thread* other = any_other()) return other;
  }
  if (Thread* next = least_advanced()) return next;
  if (held != nullptr) {
    end_wait(*held, false);
    return held;
  }
  return first_behind(self->slot,
                      [](const Thread& thread) { return thread.state == State::kSpinning; });
}

// Returns the least progress of the other threads that can or may run; the caller's own progress if
// there is no such thread.
std::uint64_t least_progress_of_others() {
  std::uint64_t least = UINT64_MAX;
  for (const Thread* thread : live) {
    const bool may_run = thread->state == State::kRunnable || thread->state == State::kSpinning;
    if (may_run && thread != self && thread->progress < least) least = thread->progress;
  }
  return least == UINT64_MAX ? own_progress() : least;
}

// True if a thread spins on bytes that have changed since.
bool has_ended_spin() {
  return first_behind(self->slot, [](const Thread& thread) {
           return thread.state == State::kSpinning && changed(thread);
         }) != nullptr;
}

bool is_outside(const Thread& thread) {
  State state;
  __atomic_load(&thread.state, &state, __ATOMIC_ACQUIRE);
  return state == State::kOutside;
}

// Jumps to the next deadline; false: there is none.
bool let_time_pass() {
  std::uint64_t earliest = UINT64_MAX;
  for (const Thread* thread : live) {
    const bool waits = thread->state != State::kEnded && thread->deadline != 0;
    if (waits && thread->deadline < earliest) earliest = thread->deadline;
  }
  if (earliest != UINT64_MAX && earliest > clock_base) clock_base = earliest;
  return earliest != UINT64_MAX;
}

// Waits briefly, in real time, for events outside the program; false: no thread waits for one.
bool wait_for_outside() {
  const std::int32_t back = __atomic_load_n(&resuming_threads, __ATOMIC_ACQUIRE);
  const Thread* polling = first_behind(
      self->slot, [](const Thread& thread) { return thread.state == State::kPolling; });
  if (polling != nullptr) {
    ready(*polling, kIdlePollMilliseconds);
  } else if (first_behind(self->slot, is_outside) != nullptr) {
    const timespec pause{0, kIdlePollMilliseconds * 1'000'000};
    futex(&resuming_threads, FUTEX_WAIT_PRIVATE, back, &pause);
  } else {
    return false;
  }
  return true;
}

// Returns the next thread. Lets time pass if no thread can run.
Thread* pick() {
  if (Thread* thread = runnable()) return thread;
  const Waiting waits;
  for (;;) {
    const bool outside = wait_for_outside();
    if (Thread* thread = runnable()) return thread;
    if (!let_time_pass() && !outside) report_deadlock();
    if (Thread* thread = runnable()) return thread;
  }
}

void begin_turn() {
  self->state = State::kRunnable;
  self->deadline = 0;
  hot.budget = budget_slice;
  turn_so_far = 0;
  ++turns;
}

// Adds the instructions that the calling thread has executed.
void count_executed(std::int64_t executed) {
  clock_base += static_cast<std::uint64_t>(executed);
  self->progress += static_cast<std::uint64_t>(executed);
}

// Adds the instructions of the slice that ends, and begins the next one.
void end_slice() {
  const std::int64_t executed = budget_slice - hot.budget;
  count_executed(executed);
  turn_so_far += executed;
  hot.budget = budget_slice;
}

void end_turn() {
  end_slice();
  if (!walks_at_random()) turn_so_far = 0;
}

// True if the turn ends here; called when a slice has ended.
bool is_turn_over() {
  if (!walks_at_random()) return turn_so_far > quantum;
  const bool at_point = has_recorded_point();  // called also where the turn ends anyway
  return turn_so_far >= quantum || (at_point && ends_turn_here());
}

// Ends the turn and returns at the next one.
void switch_threads() {
  end_turn();
  Thread* next = pick();
  if (next != self) {
    hand_on(next);
    take_token();
  }
  begin_turn();
}

// Holds the calling thread (rule 8).
void hold_back() {
  const std::uint64_t turn = turns;
  hold.result = HoldResult::kHeld;
  held = self;
  block("the end of its hold", nullptr, now() + kLongestHold);
  held = nullptr;
  // The caller's own next turn follows at once if no other thread could run.
  if (turns == turn + 1) hold.result = HoldResult::kAlone;
}

}  // namespace

void configure_turns() {
  configure_schedule();
  configure_hold();
  budget_slice = walks_at_random() || hold.requested ? -1 : quantum;
}

std::uint64_t now() { return clock_base + static_cast<std::uint64_t>(budget_slice - hot.budget); }

void add_thread(Thread* thread) {
  thread->index = static_cast<std::uint32_t>(threads.size());
  thread->slot = static_cast<std::uint32_t>(live.size());
  if (!threads.push(thread) || !live.push(thread)) {
    fail("%s creates too many threads to be recorded", program_name);
  }
  if (self != nullptr) thread->progress = own_progress();
  if (holder == nullptr) holder = thread;
}

void keep_only_self() {
  live.shrink(0);
  live.push(self);
  self->slot = 0;
  self->kernel_id = gettid();
  holder = self;
  waiting = 0;
  looking = PTHREAD_MUTEX_INITIALIZER;
}

void await_turn() {
  take_token();
  begin_turn();
}

bool only_thread() { return live.size() == 1; }

std::uint64_t turn_number() { return turns; }

void lose_token() {
  if (self != holder || only_thread() || waiting > 0 || self->state != State::kRunnable) return;
  self->state = State::kOutside;
  self->deadline = 0;
  Thread* next = runnable();
  if (next == nullptr && let_time_pass()) next = runnable();
  if (next == nullptr) {
    self->state = State::kRunnable;
    return;
  }
  count_executed(budget_slice - hot.budget);
  if (mode != Mode::kDone) ++lost_tokens;  // later turns leave no trace
  // Without space and budget, the thread's next record calls resume_execution().
  hot.limit = nullptr;
  hot.budget = -1;
  hand_on(next);
}

void resume_execution() {
  const int error = errno;
  State runnable = State::kRunnable;
  __atomic_store(&self->state, &runnable, __ATOMIC_RELEASE);
  __atomic_add_fetch(&resuming_threads, 1, __ATOMIC_RELEASE);
  futex(&resuming_threads, FUTEX_WAKE_PRIVATE, 1);
  await_turn();
  const std::uint64_t least = least_progress_of_others();
  if (self->progress < least) self->progress = least;
  if (self->buffer != nullptr) hot.limit = buffer_limit(*self);
  errno = error;
}

std::uint64_t tokens_lost() { return lost_tokens; }

Progress progress() {
  Progress here{};
  real.pthread_mutex_lock(&looking);
  const Thread* thread = __atomic_load_n(&holder, __ATOMIC_ACQUIRE);
  const bool may_wait = __atomic_load_n(&waiting, __ATOMIC_ACQUIRE) != 0;
  if (thread != nullptr && thread->hot != nullptr && !may_wait) {
    here = {thread->kernel_id, __atomic_load_n(&turns, __ATOMIC_RELAXED),
            __atomic_load_n(&thread->hot->budget, __ATOMIC_RELAXED),
            __atomic_load_n(&thread->hot->cursor, __ATOMIC_RELAXED)};
  }
  real.pthread_mutex_unlock(&looking);
  return here;
}

Waiting::Waiting() { __atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE); }
Waiting::~Waiting() {
  __atomic_sub_fetch(&waiting, 1, __ATOMIC_RELEASE);
  wipe_stack();
}

void quantum_over() {
  if (!active()) {
    hot.budget = INT64_MAX;
    return;
  }
  if (is_hold_due(*self)) return hold_back();
  const bool alone_at_random = walks_at_random() && only_thread();
  if (budget_slice < 0 && !alone_at_random) {
    end_slice();
    if (!is_turn_over()) return;
  }
  if (only_thread()) {
    end_turn();
  } else {
    switch_threads();
  }
}

// A thread that yields usually waits for another thread's progress.
void yield() {
  end_turn();
  if (only_thread()) return;
  const std::uint64_t least = least_progress_of_others();
  if (self->progress <= least) self->progress = least + 1;
  switch_threads();
}

bool is_ahead() { return own_progress() > least_progress_of_others() + kLead || has_ended_spin(); }

void let_others_catch_up() { switch_threads(); }

void yield_until_changed(const volatile void* address, const void* value, std::uint32_t bytes) {
  self->watched = address;
  self->watched_bytes = bytes;
  std::memcpy(self->watched_value, value, bytes);
  self->deadline = now() + kLongestSpin;
  self->state = State::kSpinning;
  switch_threads();
}

bool yield_until_ready(int descriptor, short events, std::uint64_t deadline) {
  self->descriptor = descriptor;
  self->events = events;
  self->deadline = deadline;
  self->timed_out = false;
  self->state = State::kPolling;
  switch_threads();
  return !self->timed_out;
}

bool block(const char* what, SyncObject* object, std::uint64_t deadline) {
  self->waits_for = what;
  self->waits_at = object;
  self->deadline = deadline;
  self->timed_out = false;
  self->state = State::kBlocked;
  switch_threads();
  return !self->timed_out;
}

void wake(Thread* thread) { end_wait(*thread, false); }

void end_thread() {
  end_turn();
  note_end_of_turn();
  self->state = State::kEnded;
  Thread* next = pick();
  for (std::uint32_t slot = self->slot + 1; slot < live.size(); ++slot) {
    live[slot - 1] = live[slot];
    live[slot - 1]->slot = slot - 1;
  }
  live.shrink(live.size() - 1);
  just_ended = self;
  real.pthread_mutex_lock(&looking);
  self->hot = nullptr;
  real.pthread_mutex_unlock(&looking);
  hand_token_to(next);
}

}  // namespace pmemsim::rt
