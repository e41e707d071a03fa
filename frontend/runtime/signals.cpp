// Signals: nothing is recorded inside the program's handlers, and a program that a signal ends
// leaves no trace.
#include "signals.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <unistd.h>

#include "exported.hpp"
#include "output.hpp"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "watchdog.hpp"

namespace pmemsim::rt {
namespace {

constexpr std::size_t kAlternateStackBytes = 64 * 1024;

// Signals whose default action ends the program, and that can be caught.
constexpr int kFatalSignals[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGILL,  SIGABRT, SIGBUS,  SIGFPE,
                                 SIGUSR1, SIGSEGV,   SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU,
                                 SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSYS,  SIGSTKFLT};

struct sigaction actions[NSIG];  // the program's view of the actions

bool is_fatal(int signal) {
  for (const int fatal : kFatalSignals) {
    if (fatal == signal) return true;
  }
  return false;
}

void die_of(int signal) {
  if (is_recorded_process()) {
    abandon_output();
    say("%s died of signal %d (%s) while being recorded; no trace was written", program_name,
        signal, strsignal(signal));
  }
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  real.sigaction(signal, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  real.pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

void enter_signal() {
  if (self == nullptr || ++self->signals > 1) return;
  self->hot_before_signal = hot;
  hot = {
      .cursor = nullptr, .limit = nullptr, .budget = INT64_MAX, .operations = 0, .instructions = 0};
  self->signal_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  stack_t stack;
  real.sigaltstack(nullptr, &stack);
  self->signal_stack_begin = self->signal_stack_end = 0;
  if ((stack.ss_flags & SS_ONSTACK) != 0) {
    self->signal_stack_begin = reinterpret_cast<std::uintptr_t>(stack.ss_sp);
    self->signal_stack_end = self->signal_stack_begin + stack.ss_size;
  }
}

void leave_signal() {
  if (self == nullptr || self->signals == 0 || --self->signals > 0) return;
  hot = self->hot_before_signal;
}

void on_signal(int signal, siginfo_t* information, void* context) {
  const int error = errno;
  struct sigaction& action = actions[signal];
  const struct sigaction users = action;
  if ((users.sa_flags & SA_RESETHAND) != 0) action.sa_handler = SIG_DFL;
  enter_signal();
  if ((users.sa_flags & SA_SIGINFO) != 0) {
    users.sa_sigaction(signal, information, context);
  } else {
    users.sa_handler(signal);
  }
  leave_signal();
  end_sleep(context);
  errno = error;
}

// Installs the action that the runtime needs for the program's requested one.
int install(int signal, const struct sigaction& wanted) {
  struct sigaction action = wanted;
  const bool own_handler = (wanted.sa_flags & SA_SIGINFO) != 0 ||
                           (wanted.sa_handler != SIG_DFL && wanted.sa_handler != SIG_IGN);
  sigdelset(&action.sa_mask, SIGTRAP);
  if (own_handler) {
    action.sa_sigaction = &on_signal;
    action.sa_flags |= SA_SIGINFO;
  } else if (wanted.sa_handler == SIG_DFL && is_fatal(signal)) {
    action.sa_handler = &die_of;
    action.sa_flags = SA_ONSTACK;
  }
  return real.sigaction(signal, &action, nullptr);
}

int change_action(int signal, const struct sigaction* wanted, struct sigaction* old) {
  if (signal <= 0 || signal >= NSIG) {
    errno = EINVAL;
    return -1;
  }
  const struct sigaction before = actions[signal];
  if (wanted != nullptr) {
    // SIGTRAP is the watchdog's signal: the program's handler is noted, but not installed.
    actions[signal] = *wanted;
    if (signal != SIGTRAP && install(signal, *wanted) != 0) {
      actions[signal] = before;
      return -1;
    }
  }
  if (old != nullptr) *old = before;
  return 0;
}

}  // namespace

bool still_in_signal() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool on_signal_stack = self->signal_stack_end != 0;
  if (on_signal_stack ? here >= self->signal_stack_begin && here < self->signal_stack_end
                      : here < self->signal_frame) {
    return true;
  }
  self->signals = 1;
  leave_signal();
  return false;
}

void install_alternate_stack() {
  stack_t stack{};
  stack.ss_sp = allocate(kAlternateStackBytes);
  stack.ss_size = kAlternateStackBytes;
  real.sigaltstack(&stack, nullptr);
}

void watch_signals() {
  install_alternate_stack();
  for (int signal = 1; signal < NSIG; ++signal) {
    // An inherited action stays (nohup ignores SIGHUP).
    real.sigaction(signal, nullptr, &actions[signal]);
    if (is_fatal(signal) && actions[signal].sa_handler == SIG_DFL) install(signal, actions[signal]);
  }
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT int sigaction(int signal, const struct sigaction* wanted,
                             struct sigaction* old) noexcept {
  if (mode == Mode::kOff) return real.sigaction(signal, wanted, old);
  return change_action(signal, wanted, old);
}
PMEMSIM_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (mode == Mode::kOff) return real.signal(number, handler);
  struct sigaction wanted{};
  struct sigaction old{};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  return change_action(number, &wanted, &old) == 0 ? old.sa_handler : SIG_ERR;
}
// Never blocks SIGTRAP, the watchdog's signal.
PMEMSIM_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  if (mode == Mode::kOff || set == nullptr) return real.sigprocmask(how, set, old);
  sigset_t without_trap = *set;
  sigdelset(&without_trap, SIGTRAP);
  return real.sigprocmask(how, &without_trap, old);
}
PMEMSIM_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  if (mode == Mode::kOff || set == nullptr) return real.pthread_sigmask(how, set, old);
  sigset_t without_trap = *set;
  sigdelset(&without_trap, SIGTRAP);
  return real.pthread_sigmask(how, &without_trap, old);
}
