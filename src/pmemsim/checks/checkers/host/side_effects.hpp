// Notices side effects of a check: writes to any memory except its own part of the stack, and
// system calls. A check without side effects leaves its process unchanged, so that the process can
// make the next check.
//
// During the check, all memory is write-protected and system calls are caught. The first side
// effect ends both, and makes the regions private and writable. The check then continues and can't
// detect the difference.
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

  // Starts the watch, in a child, once. The regions' memory shows the current contents of the
  // files. `spared` is in a mapping that may be written to. The object must be created by the
  // function that calls run().
  SideEffects(std::vector<Region> regions, const void* spared);
  SideEffects(const SideEffects&) = delete;
  SideEffects& operator=(const SideEffects&) = delete;

  int run(decltype(&pmemsim_check) check, const std::vector<pmemsim_region>& regions);
  // True if there were side effects, or if they can't be noticed here.
  bool any() const { return own_ == nullptr || own_->any; }

 private:
  static constexpr std::size_t kSignalStackBytes = std::size_t{1} << 16;
  // Memory that stays writable.
  struct Own {
    volatile char calls;  // Lets calls pass or not (SYSCALL_DISPATCH_FILTER_...)
    volatile bool any;
    alignas(64) std::byte signal_stack[kSignalStackBytes];
  };
  struct Protected {
    std::uint64_t begin, end;
    int protection;  // Protection without write access
  };

  static void notice(int signal, siginfo_t* info, void* context);
  bool map_regions(long protection, long sharing) const;
  void find_rseq_area();
  bool find_memory(const void* spared);
  bool catch_all();
  bool protect(int also) const;
  bool let_kernel_write(bool let) const;
  void end() const;

  static const SideEffects* noticing_;

  const std::vector<Region> regions_;
  std::vector<Protected> memory_;
  const std::uint64_t stack_begin_;  // Start of the part that checks may write to
  Own* own_ = nullptr;
  std::fenv_t rounding_{};
  // The library's own signal handlers and signal stack, to be restored.
  struct sigaction fault_before_{}, call_before_{};
  stack_t signal_stack_before_{};
  // Address at which the kernel stores the number of this thread's core (rseq(2)), if libc
  // registered it.
  std::uint64_t rseq_area_ = 0;
  std::uint64_t rseq_area_bytes_ = 0;
};

}  // namespace pmemsim
