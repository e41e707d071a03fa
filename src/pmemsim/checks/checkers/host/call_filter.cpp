#include "pmemsim/checks/checkers/host/call_filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace pmemsim {
namespace {

// Calls that open, read and map files, unmap memory, or begin and end processes.
constexpr std::array kNotified{
    SYS_open,   SYS_openat, SYS_pread64, SYS_ftruncate,        SYS_fallocate,
    SYS_munmap, SYS_mremap, SYS_execve,  SYS_execveat,         SYS_exit,
    SYS_fork,   SYS_vfork,  SYS_clone3,  SYS_remap_file_pages, SYS_exit_group,
};
// Calls that could read, detect or unmap a part of an image unnoticed, or that give a process other
// files or rights.
constexpr std::array kUnwatchable{
    SYS_io_uring_setup,
    SYS_io_setup,
    SYS_splice,
    SYS_mincore,
    SYS_process_madvise,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_unshare,
    SYS_setns,
    SYS_chroot,
    SYS_pivot_root,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
    438,  // pidfd_getfd
    446,  // landlock_restrict_self
    451,  // cachestat
};

constexpr std::uint32_t kOtherInterface = 0x40000000;  // Calls of the x32 interface
constexpr std::uint32_t kReplaces = MAP_FIXED;
constexpr std::uint32_t kNoFileOfInterest = MAP_ANONYMOUS | MAP_DENYWRITE;  // The latter: libraries

class Rules {
 public:
  Rules() {
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    report_pages();
    load(offsetof(seccomp_data, nr));
    jump(BPF_JGE, kOtherInterface, 0, 1);
    report_pages();
  }
  void notify_on(long call) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 1);
    report_pages();
  }
  // Reports the call if the comparison with the argument is true (`says`) or false (not `says`).
  void notify_on(long call, std::size_t argument, std::uint16_t compare, std::uint32_t with,
                 bool says) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 4);
    load_argument(argument);
    jump(compare, with, says ? 0 : 1, says ? 1 : 0);
    report_pages();
    allow();
  }
  // Threads that share their files with their process do not count as processes.
  void notify_on_clones() {
    constexpr std::uint32_t kThread = CLONE_THREAD | CLONE_FILES;
    jump(BPF_JEQ, SYS_clone, 0, 5);
    load_argument(0);
    rules_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kThread));
    jump(BPF_JEQ, kThread, 1, 0);
    report_pages();
    allow();
  }
  void notify_on_mappings() {
    jump(BPF_JEQ, SYS_mmap, 0, 5);
    load_argument(3);
    jump(BPF_JSET, kReplaces, 1, 0);
    jump(BPF_JSET, kNoFileOfInterest, 1, 0);
    report_pages();
    allow();
  }
  std::vector<sock_filter>& all() {
    allow();
    return rules_;
  }

 private:
  void load(std::size_t at) {
    rules_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at)));
  }
  // Loads the lower half of the argument: the compared values have no more bits.
  void load_argument(std::size_t number) {
    load(offsetof(seccomp_data, args) + number * sizeof(seccomp_data::args[0]));
  }
  void jump(std::uint16_t compare, std::uint32_t with, std::uint8_t then, std::uint8_t otherwise) {
    rules_.push_back(
        BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | compare | BPF_K), with, then, otherwise));
  }
  void report_pages() { rules_.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)); }
  void allow() { rules_.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)); }

  std::vector<sock_filter> rules_;
};

std::vector<sock_filter> rules() {
  Rules rules;
  for (const long call : kNotified) rules.notify_on(call);
  for (const long call : kUnwatchable) rules.notify_on(call);
  rules.notify_on_mappings();
  rules.notify_on_clones();
  rules.notify_on(SYS_read, 0, BPF_JGT, STDERR_FILENO, true);
  rules.notify_on(SYS_madvise, 2, BPF_JGT, MADV_WILLNEED, true);  // Other advice changes no memory
  rules.notify_on(SYS_lseek, 2, BPF_JGT, SEEK_END, true);         // Calls that find data or holes
  rules.notify_on(SYS_prctl, 0, BPF_JEQ, PR_SET_MM, true);
  rules.notify_on(SYS_userfaultfd, 1, BPF_JEQ, static_cast<std::uint32_t>(kWatchersOwn), false);
  return rules.all();
}

int install(std::vector<sock_filter>& rules) {
  sock_fprog program{.len = static_cast<unsigned short>(rules.size()), .filter = rules.data()};
  // A caller whose call is being executed for it can only be killed until that is done.
  constexpr unsigned kFlags =
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program));
}

}  // namespace

CallFilter install_call_filter() {
  std::vector<sock_filter> all = rules();
  const int listener = install(all);
  if (listener >= 0 || errno != EACCES) return {listener, false};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {-1, false};
  return {install(all), true};
}

}  // namespace pmemsim
