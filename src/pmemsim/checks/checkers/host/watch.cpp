#include "pmemsim/checks/checkers/host/watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace pmemsim {
namespace {

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::abort();
}

sigset_t child_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

// Returns the first of this process's children; 0: unknown.
pid_t a_child() {
  pid_t child = 0;
  if (std::FILE* children = std::fopen("/proc/thread-self/children", "re")) {
    if (std::fscanf(children, "%d", &child) != 1) child = 0;
    std::fclose(children);
  }
  return child;
}

// Moves the event to a high number. So the files that a check opens have the same numbers as in a
// child without it.
int make_event(int flags) {
  constexpr int kFirstNumber = 300;
  const int made = eventfd(0, EFD_CLOEXEC | flags);
  if (made < 0) fail("eventfd");
  const int file = fcntl(made, F_DUPFD_CLOEXEC, kFirstNumber);
  if (file < 0) return made;  // The system has no such numbers (ulimit -n)
  close(made);
  return file;
}

// Kills all remaining processes that a child has started, including those outside its group:
// orphans become this process's children.
void end_all() {
  for (;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return;
    if (ended > 0) continue;
    const pid_t child = a_child();
    if (child == 0) return;  // The kernel does not report children
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace

Watch::Pipe Watch::make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {.output = ends[0], .input = ends[1]};
}

Watch::Watch(int socket, std::chrono::milliseconds timeout, bool apart)
    : socket_(socket),
      timeout_(timeout),
      said_by_(make_pipe()),
      printed_by_(apart ? std::optional(make_pipe()) : std::nullopt),
      answered_(make_event(EFD_NONBLOCK)),
      wanted_(make_event(0)),
      report_(static_cast<Report*>(mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  if (report_ == MAP_FAILED) fail("mmap");
  const sigset_t signals = child_signal();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) fail("signalfd");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::optional<CheckerAnswer> Watch::run(const std::function<void(Report&)>& work,
                                        Companion* companion) {
  end_waiting();
  begin();
  return attend(start(work), companion);
}

std::optional<CheckerAnswer> Watch::run_on(const std::function<void(Report&)>& work) {
  begin();
  if (waiting_ == 0) return attend(start(work), nullptr);
  const pid_t child = std::exchange(waiting_, 0);
  eventfd_write(wanted_, 1);
  return attend(child, nullptr);
}

void Watch::end_waiting() {
  if (waiting_ != 0) end(std::exchange(waiting_, 0));
}

// Ends a child and clears both events: it may have answered just before, or may not have woken.
void Watch::end(pid_t child) {
  kill(-child, SIGKILL);
  end_all();
  for (const int event : {answered_, wanted_}) {
    eventfd_t count;
    pollfd readable{event, POLLIN, 0};
    if (poll(&readable, 1, 0) > 0) eventfd_read(event, &count);
  }
}

void Watch::begin() {
  *report_ = {};
  said_.clear();
  printed_.clear();
  begun_ = Clock::now();
}

// Starts a child. Returns a negative number if this fails; `errno` is the reason.
pid_t Watch::start(const std::function<void(Report&)>& work) {
  const pid_t child = fork();
  if (child == 0) be_child(work);
  if (child > 0) setpgid(child, child);  // Parent and child both set it: either may be first
  return child;
}

std::optional<CheckerAnswer> Watch::attend(pid_t child, Companion* companion) {
  if (child < 0) {
    return CheckerAnswer{.ending = CheckerAnswer::Ending::kFailed, .status = errno};
  }
  const bool started = companion == nullptr || companion->started(child);
  const Event event = started ? wait_for(child, begun_ + timeout_, companion) : Event::kAbandoned;
  CheckerAnswer found = answer(child, event);
  if (event == Event::kAnswered) {
    waiting_ = child;
  } else {
    end(child);
  }
  if (companion != nullptr) companion->ended();
  if (event == Event::kUnwanted) return {};
  while (listen()) {
  }
  found.reads_reported = report_->reads;
  found.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  found.size = static_cast<std::uint32_t>(said_.size());
  std::ranges::copy(said_, found.said.begin());
  found.printed = static_cast<std::uint32_t>(printed_.size());
  return found;
}

// Written so that it changes no memory: libc's functions, with a sanitizer, may do so.
__attribute__((no_sanitize("address"))) void Watch::await_next() const {
  std::uint64_t count = 1;
  syscall(SYS_write, long{answered_}, &count, sizeof(count));
  while (syscall(SYS_read, long{wanted_}, &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

void Watch::be_child(const std::function<void(Report&)>& work) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(printed_by_ ? printed_by_->input : said_by_.input, STDOUT_FILENO);
  dup2(said_by_.input, STDERR_FILENO);
  for (const int own : {said_by_.input, said_by_.output, signals_, socket_}) close(own);
  if (printed_by_) {
    close(printed_by_->input);
    close(printed_by_->output);
  }
  const sigset_t signals = child_signal();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  errno = 0;  // Gives each child the same value
  work(*report_);
  _exit(0);
}

Watch::Event Watch::wait_for(pid_t child, Clock::time_point until, Companion* companion) {
  for (;;) {
    std::array<pollfd, 6> events{pollfd{socket_, POLLIN, 0},
                                 pollfd{said_by_.output, POLLIN, 0},
                                 pollfd{signals_, POLLIN, 0},
                                 pollfd{printed_by_ ? printed_by_->output : -1, POLLIN, 0},
                                 pollfd{companion != nullptr ? companion->file() : -1, POLLIN, 0},
                                 pollfd{answered_, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    poll(events.data(), events.size(),
         static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (events[0].revents != 0) return Event::kUnwanted;
    if (events[1].revents != 0 || events[3].revents != 0) listen();
    if (printed_.size() > kMostPrinted) return Event::kTooMuch;
    if ((events[4].revents & POLLIN) != 0) {
      if (!companion->attend()) return Event::kAbandoned;
    } else if (events[4].revents != 0) {
      companion = nullptr;  // No process is left that could wait
    }
    if (events[5].revents != 0) {
      eventfd_t count;
      eventfd_read(answered_, &count);
      return Event::kAnswered;
    }
    if (events[2].revents != 0) {
      signalfd_siginfo signal;
      while (read(signals_, &signal, sizeof(signal)) > 0) {
      }
      siginfo_t ended{};
      if (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          ended.si_pid == child) {
        return Event::kEnded;
      }
    }
    if (Clock::now() >= until) return Event::kTooLong;
  }
}

// Reads some output. Returns false if there is none now.
bool Watch::listen() {
  const bool said = receive_answer();
  return receive_printed() || said;
}

// Keeps only the end of the output.
bool Watch::receive_answer() {
  std::array<char, 4096> bytes;
  const ssize_t size = read(said_by_.output, bytes.data(), bytes.size());
  if (size <= 0) return false;
  said_.append(bytes.data(), static_cast<std::size_t>(size));
  if (said_.size() > CheckerAnswer::kMostSaid) {
    said_.erase(0, said_.size() - CheckerAnswer::kMostSaid);
  }
  return true;
}

bool Watch::receive_printed() {
  if (!printed_by_) return false;
  // The buffer is small, so that a check touches few pages; a reader that prints much fills it
  // several times.
  std::array<char, 4096> bytes;
  std::size_t received = 0;
  ssize_t size = 0;
  do {
    size = read(printed_by_->output, bytes.data(), bytes.size());
    if (size <= 0) break;
    printed_.append(bytes.data(), static_cast<std::size_t>(size));
    received += static_cast<std::size_t>(size);
  } while (static_cast<std::size_t>(size) == bytes.size() && received < kMostPrintedAtOnce);
  return received > 0;
}

CheckerAnswer Watch::answer(pid_t child, Event event) const {
  using Ending = CheckerAnswer::Ending;
  if (event == Event::kAnswered) return {.ending = Ending::kReturned, .status = report_->status};
  if (event == Event::kTooLong) return {.ending = Ending::kTooLong};
  if (event == Event::kTooMuch) return {.ending = Ending::kTooMuch};
  if (event == Event::kAbandoned) return {.ending = Ending::kSignal, .status = SIGKILL};
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
  if (report_->error != 0) return {.ending = Ending::kNotRun, .status = report_->error};
  if (ended.si_code != CLD_EXITED) return {.ending = Ending::kSignal, .status = ended.si_status};
  if (report_->returned) return {.ending = Ending::kReturned, .status = report_->status};
  return {.ending = Ending::kExited, .status = ended.si_status};
}

}  // namespace pmemsim
