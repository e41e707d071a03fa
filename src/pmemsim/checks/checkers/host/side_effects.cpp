#include "pmemsim/checks/checkers/host/side_effects.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>

#include "pmemsim/checks/checkers/host/process.hpp"
#include "pmemsim/checks/checkers/shared_reads.hpp"

// Code that runs while memory is protected must not write to a sanitizer's memory.
#define PMEMSIM_WRITES_NOTHING __attribute__((no_sanitize("address", "undefined"), noinline))

namespace pmemsim {
namespace {

constexpr std::uint64_t kStackBytes = std::uint64_t{1} << 15;
// SS_AUTODISARM of linux/signal.h, which excludes signal.h: inside handlers, no signal stack is
// set.
constexpr int kAutoDisarm = static_cast<int>(1U << 31);
constexpr int kSystemCallBytes = 2;  // Size of the instruction

std::uint64_t address_of(const void* bytes) { return reinterpret_cast<std::uint64_t>(bytes); }

bool contains(const ProcessMapping& mapping, std::uint64_t at) {
  return mapping.begin <= at && at < mapping.end;
}

}  // namespace

const SideEffects* SideEffects::noticing_ = nullptr;

SideEffects::SideEffects(std::vector<Region> regions, const void* spared)
    : regions_(std::move(regions)),
      stack_begin_((address_of(__builtin_frame_address(0)) - kStackBytes) & ~(kReadBytes - 1)) {
  // Maps the regions first: no other mapping may get their addresses.
  const bool mapped = map_regions(PROT_READ, MAP_SHARED);
  std::fegetenv(&rounding_);
  noticing_ = this;
  find_rseq_area();
  sigaction(SIGSEGV, nullptr, &fault_before_);
  sigaction(SIGSYS, nullptr, &call_before_);
  sigaltstack(nullptr, &signal_stack_before_);
  void* own = mmap(nullptr, sizeof(Own), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) {
    map_regions(PROT_READ | PROT_WRITE, MAP_PRIVATE);
    return;
  }
  own_ = static_cast<Own*>(own);
  if (!mapped || !find_memory(spared) || !catch_all()) end();
}

// Finds the rseq area. A libc that registers one exports its address (sys/rseq.h, which may be
// missing in the libc of the build).
void SideEffects::find_rseq_area() {
  constexpr std::uint64_t kLeast = 32;  // Minimum size in B that the kernel requires
  const void* size = dlsym(RTLD_DEFAULT, "__rseq_size");
  const void* offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
  if (size == nullptr || offset == nullptr || *static_cast<const unsigned*>(size) == 0) return;
  std::uint64_t thread;
  asm("mov %%fs:0, %0" : "=r"(thread));
  rseq_area_ = thread + static_cast<std::uint64_t>(*static_cast<const std::ptrdiff_t*>(offset));
  rseq_area_bytes_ = std::max<std::uint64_t>(kLeast, *static_cast<const unsigned*>(size));
}

// Arguments of syscall() must have a register's size.
bool SideEffects::map_regions(long protection, long sharing) const {
  bool mapped = true;
  for (const Region& region : regions_) {
    mapped &= syscall(SYS_mmap, region.bytes, region.size, protection,
                      MAP_FIXED | MAP_NORESERVE | sharing, long{region.file}, 0L) >= 0;
  }
  return mapped;
}

// Finds the memory to protect. The stack is first extended below the checks' part, so that there is
// memory to protect.
bool SideEffects::find_memory(const void* spared) {
  [[maybe_unused]] const char used = *reinterpret_cast<volatile char*>(stack_begin_ - 1);
  const auto mappings = mappings_of(getpid());
  if (!mappings) return false;
  for (const ProcessMapping& mapping : *mappings) {
    if (!mapping.writable || contains(mapping, address_of(own_)) ||
        contains(mapping, address_of(spared))) {
      continue;
    }
    const int protection = PROT_READ | (mapping.executable ? PROT_EXEC : 0);
    if (contains(mapping, stack_begin_)) {
      memory_.push_back({mapping.begin, stack_begin_, protection | PROT_GROWSDOWN});
    } else {
      memory_.push_back({mapping.begin, mapping.end, protection});
    }
  }
  return true;
}

PMEMSIM_WRITES_NOTHING bool SideEffects::catch_all() {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  if (sigismember(&blocked, SIGSEGV) != 0 || sigismember(&blocked, SIGSYS) != 0) return false;
  const stack_t stack{
      .ss_sp = own_->signal_stack, .ss_flags = kAutoDisarm, .ss_size = kSignalStackBytes};
  struct sigaction action{};
  action.sa_sigaction = notice;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  return sigaltstack(&stack, nullptr) == 0 && sigaction(SIGSEGV, &action, nullptr) == 0 &&
         sigaction(SIGSYS, &action, nullptr) == 0 &&
         prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L, &own_->calls) == 0 &&
         let_kernel_write(false) && protect(0);
}

// Registers or unregisters the rseq area: the kernel kills a thread to whose area it can't write.
PMEMSIM_WRITES_NOTHING bool SideEffects::let_kernel_write(bool let) const {
  constexpr long kUnregister = 1;
  constexpr long kSignature = 0x53053053;  // Signature on x86
  return rseq_area_bytes_ == 0 ||
         syscall(SYS_rseq, rseq_area_, rseq_area_bytes_, let ? 0L : kUnregister, kSignature) == 0;
}

// Protects the memory. It does not call libc's functions, which may write to their own memory;
// those of a sanitizer do.
PMEMSIM_WRITES_NOTHING bool SideEffects::protect(int also) const {
  bool all = true;
  for (const Protected& part : memory_) {
    all &=
        syscall(SYS_mprotect, part.begin, part.end - part.begin, long{part.protection} | also) == 0;
  }
  return all;
}

PMEMSIM_WRITES_NOTHING void SideEffects::end() const {
  const int error = errno;
  own_->any = true;
  own_->calls = SYSCALL_DISPATCH_FILTER_ALLOW;
  protect(PROT_WRITE);
  let_kernel_write(true);
  map_regions(PROT_READ | PROT_WRITE, MAP_PRIVATE);
  syscall(SYS_prctl, long{PR_SET_SYSCALL_USER_DISPATCH}, long{PR_SYS_DISPATCH_OFF}, 0L, 0L, 0L);
  sigaction(SIGSEGV, &fault_before_, nullptr);
  sigaction(SIGSYS, &call_before_, nullptr);
  sigaltstack(&signal_stack_before_, nullptr);
  errno = error;
}

// Handles the first side effect. The interrupted instruction is executed again after the handler.
PMEMSIM_WRITES_NOTHING void SideEffects::notice(int signal, siginfo_t* /*info*/, void* context) {
  auto* interrupted = static_cast<ucontext_t*>(context);
  noticing_->end();
  if (signal == SIGSYS) interrupted->uc_mcontext.gregs[REG_RIP] -= kSystemCallBytes;
  interrupted->uc_stack = noticing_->signal_stack_before_;
}

PMEMSIM_WRITES_NOTHING int SideEffects::run(decltype(&pmemsim_check) check,
                                            const std::vector<pmemsim_region>& regions) {
  if (any()) return check(regions.data(), regions.size());
  // Clears the part of the stack that the previous check has used.
  std::uint64_t end;
  asm volatile("mov %%rsp, %0" : "=r"(end));
  for (std::uint64_t at = stack_begin_; at < end; at += sizeof(std::uint64_t)) {
    *reinterpret_cast<volatile std::uint64_t*>(at) = 0;
  }
  own_->calls = SYSCALL_DISPATCH_FILTER_BLOCK;
  const int status = check(regions.data(), regions.size());
  own_->calls = SYSCALL_DISPATCH_FILTER_ALLOW;
  std::fesetenv(&rounding_);
  return status;
}

}  // namespace pmemsim
