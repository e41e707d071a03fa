// Notices whether a check has had side effects: whether it has written to any memory but its own
// part of the stack, or made a system call. One that hasn't has left its process as it was, which
// can make the next check.
//
// All memory is write-protected and system calls are caught meanwhile. With the first side effect
// both end, the regions become the check's own to write to, and it goes on: it sees no difference.
#pragma once

#include <pmemsim/check.h>
#include <signal.h>

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pmemsim {

class SideEffects {
 public:
  struct Region {
    void* bytes;
    std::size_t size;
    int file;
  };

  // In a child, once. The regions' bytes become those of the files, as they are at any time.
  // `spared` is in a mapping that may be written to. Must be made by the function that calls run().
  SideEffects(std::vector<Region> regions, const void* spared);
  SideEffects(const SideEffects&) = delete;
  SideEffects& operator=(const SideEffects&) = delete;

  int run(decltype(&pmemsim_check) check, const std::vector<pmemsim_region>& regions);
  // There were some, or they can't be noticed here.
  bool any() const { return own_ == nullptr || own_->any; }

 private:
  static constexpr std::size_t kSignalStackBytes = std::size_t{1} << 16;
  // What is written to nevertheless.
  struct Own {
    volatile char calls;  // whether the kernel lets them pass (SYSCALL_DISPATCH_FILTER_...)
    volatile bool any;
    alignas(64) std::byte signal_stack[kSignalStackBytes];
  };
  struct Protected {
    std::uint64_t begin, end;
    int protection;  // so that it can't be written to
  };

  static void notice(int signal, siginfo_t* info, void* context);
  bool map_regions(long protection, long sharing) const;
  void find_core_told();
  bool find_memory(const void* spared);
  bool catch_all();
  bool protect(int also) const;
  bool let_kernel_write(bool let) const;
  void end() const;

  static const SideEffects* noticing_;

  const std::vector<Region> regions_;
  std::vector<Protected> memory_;
  const std::uint64_t stack_begin_;  // of the part that checks may write to
  Own* own_ = nullptr;
  std::fenv_t rounding_{};
  // As the library has them.
  struct sigaction fault_before_{}, call_before_{};
  stack_t signal_stack_before_{};
  // Where the kernel writes on which core this thread runs (rseq(2)), if libc lets it.
  std::uint64_t core_told_at_ = 0;
  std::uint64_t core_told_bytes_ = 0;
};

}  // namespace pmemsim
