#include "reserved_memory.hpp"

#include "real.hpp"
#include "scheduler.hpp"
#include "status.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmemsim::rt {
namespace {

constexpr std::size_t kRuntimeBytes = std::size_t{256} << 30;
constexpr std::size_t kAlignment = 64;
// The part of each reservation that is in a core dump: more than most programs use. A dump of a
// whole terabyte would take minutes, since the kernel visits every page.
constexpr std::size_t kDumpedBytes = std::size_t{2} << 30;

std::uintptr_t next_free = 0;

bool is_limited(__rlimit_resource resource) {
  rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Returns advice on how to allow the reservation, if there is any.
const char* cure() {
  const bool space = is_limited(RLIMIT_AS), data = is_limited(RLIMIT_DATA);
  if (space && data) return "; allow it with: ulimit -v unlimited; ulimit -d unlimited";
  if (space) return "; allow it with: ulimit -v unlimited";
  if (data) return "; allow it with: ulimit -d unlimited";
  return errno == ENOMEM ? "; allow it with: sysctl vm.overcommit_memory=0" : "";
}

}  // namespace

void* reserve(std::uintptr_t address, std::size_t bytes) {
  const long got =
      real.syscall(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == -1 || static_cast<std::uintptr_t>(got) != address) {
    fail("%zu bytes of address space at 0x%zx could not be reserved (%s)%s", bytes, address,
         std::strerror(errno), cure());
  }
  auto* begin = reinterpret_cast<char*>(address);
  if (bytes > kDumpedBytes) madvise(begin + kDumpedBytes, bytes - kDumpedBytes, MADV_DONTDUMP);
  return begin;
}

void* allocate(std::size_t bytes) {
  if (next_free == 0)
    next_free = reinterpret_cast<std::uintptr_t>(reserve(kRuntimeBase, kRuntimeBytes));
  const std::uintptr_t begin = next_free;
  next_free += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (next_free > kRuntimeBase + kRuntimeBytes) fail("the program has too many threads or locks");
  return reinterpret_cast<void*>(begin);
}

}  // namespace pmemsim::rt
