#include "pmemsim/checks/checkers/host/page_by_page.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "pmemsim/checks/checkers/host/call_filter.hpp"
#include "pmemsim/checks/checkers/host/process.hpp"
#include "pmemsim/checks/checkers/shared_reads.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kSystemCall = 0x050f;  // The instruction's bytes
constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};

// A thread that this process has stopped, until destruction.
class Stopped {
 public:
  // Stops the thread when it returns from the call in which it waits.
  Stopped(pid_t thread, const std::function<void()>& let_go) : thread_(thread) {
    traced_ = ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0;
    if (traced_) ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    let_go();
    works_ = traced_ && await() && stop_ == kInterrupted && save();
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  ~Stopped() {
    if (works_) {
      ptrace(PTRACE_SETREGS, thread_, nullptr, &before_);
      ptrace(PTRACE_SETSIGMASK, thread_, sizeof(mask_), &mask_);
    }
    if (traced_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
  }

  bool works() const { return works_; }
  // Returns the result of the call in which the thread was stopped.
  long returned() const { return static_cast<long>(before_.rax); }
  // Executes a system call in the thread. Returns a negative number on an error.
  long call(long number, std::uint64_t first, std::uint64_t second) {
    user_regs_struct registers = before_;
    registers.rip -= 2;  // Address of the thread's own system call
    registers.rax = static_cast<unsigned long long>(number);
    registers.rdi = first;
    registers.rsi = second;
    registers.orig_rax = kAllSignals;  // Prevents the kernel from restarting a call
    if (ptrace(PTRACE_SETREGS, thread_, nullptr, &registers) != 0 || !step() ||
        ptrace(PTRACE_GETREGS, thread_, nullptr, &registers) != 0) {
      return -EIO;
    }
    return static_cast<long>(registers.rax);
  }

 private:
  static constexpr int kInterrupted = SIGTRAP | PTRACE_EVENT_STOP << 8;

  // Waits for a stop of the thread. A thread that has ended is left for other waits.
  bool await() {
    constexpr int kHow = WEXITED | WSTOPPED | __WALL;
    siginfo_t found{};
    if (waitid(P_PID, static_cast<id_t>(thread_), &found, kHow | WNOWAIT) != 0) return false;
    if (found.si_code != CLD_TRAPPED && found.si_code != CLD_STOPPED) return false;
    stop_ = found.si_status;
    return waitid(P_PID, static_cast<id_t>(thread_), &found, WSTOPPED | __WALL) == 0;
  }
  // Saves the registers and blocks all signals until the thread continues.
  bool save() {
    errno = 0;
    if (ptrace(PTRACE_GETREGS, thread_, nullptr, &before_) != 0 ||
        ptrace(PTRACE_GETSIGMASK, thread_, sizeof(mask_), &mask_) != 0) {
      return false;
    }
    const long code = ptrace(PTRACE_PEEKTEXT, thread_, before_.rip - 2, nullptr);
    return errno == 0 && (static_cast<std::uint64_t>(code) & 0xffff) == kSystemCall &&
           ptrace(PTRACE_SETSIGMASK, thread_, sizeof(kAllSignals), &kAllSignals) == 0;
  }
  bool step() {
    do {
      if (ptrace(PTRACE_SINGLESTEP, thread_, nullptr, nullptr) != 0 || !await()) return false;
    } while (stop_ == kInterrupted);
    return stop_ == SIGTRAP;
  }

  const pid_t thread_;
  user_regs_struct before_{};
  std::uint64_t mask_ = 0;
  int stop_ = 0;
  bool traced_ = false, works_ = false;
};

// Creates a userfaultfd in the process, copies it to this process and closes the original.
int take_userfaultfd(Stopped& stopped, pid_t process) {
  const long number = stopped.call(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY, kWatchersOwn);
  if (number < 0) return -1;
  const int file = copy_of_file(process, static_cast<int>(number));
  stopped.call(SYS_close, static_cast<std::uint64_t>(number), 0);
  return file;
}

}  // namespace

bool map_page_by_page(int file, std::uint64_t begin, std::uint64_t size) {
  uffdio_api api{};
  api.api = UFFD_API;
  uffdio_register watched{};
  watched.range.start = begin;
  watched.range.len = pages_of(size) * kReadBytes;
  watched.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(file, UFFDIO_API, &api) == 0 && ioctl(file, UFFDIO_REGISTER, &watched) == 0;
}

int fault_in_page_by_page(pid_t thread, pid_t process, std::uint64_t size,
                          const std::function<void()>& let_go) {
  Stopped stopped(thread, let_go);
  if (!stopped.works() || stopped.returned() < 0) return -1;
  const int file = take_userfaultfd(stopped, process);
  const auto begin = static_cast<std::uint64_t>(stopped.returned());
  if (file < 0 || map_page_by_page(file, begin, size)) return file;
  close(file);
  return -1;
}

}  // namespace pmemsim
