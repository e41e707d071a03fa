#include "pmemsim/checks/checkers/host/page_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdint>

#include "pmemsim/checks/checkers/host/page_by_page.hpp"
#include "pmemsim/checks/checkers/host/process.hpp"
#include "pmemsim/checks/checkers/shared_reads.hpp"

namespace pmemsim {
namespace {

// True if the check has forked: the reads of its children are not seen here.
bool forked = false;

void note_forks() {
  [[maybe_unused]] static const int kSet = pthread_atfork(nullptr, [] { forked = true; }, nullptr);
  forked = false;
}

std::uint64_t address_of(const pmemsim_region& region) {
  return reinterpret_cast<std::uint64_t>(region.bytes);
}

// True if the kernel does not remove pages from the page table to free memory.
bool stays_in_memory(const pmemsim_region& region) {
  struct sysinfo info{};
  if (sysinfo(&info) == 0 && info.totalswap == 0) return true;
  return mlock2(region.bytes, region.size, MLOCK_ONFAULT) == 0;
}

// Makes the kernel map the region page by page, if possible.
void fault_in_one_by_one(const pmemsim_region& region) {
  constexpr int kFirstNumber = 200;  // Leaves the usual file numbers to the check
  const int opened = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
  if (opened < 0) return;
  const int file = fcntl(opened, F_DUPFD_CLOEXEC, kFirstNumber);
  close(opened);
  if (file < 0) return;
  map_page_by_page(file, address_of(region), region.size);
}

}  // namespace

void PageWatch::map(const pmemsim_region& region, int file) {
  note_forks();
  void* mapped =
      mmap(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  works_ = works_ && mapped != MAP_FAILED &&
           mremap(mapped, region.size, region.size, MREMAP_MAYMOVE | MREMAP_FIXED, region.bytes) ==
               region.bytes &&
           stays_in_memory(region);
  fault_in_one_by_one(region);
}

bool PageWatch::report_pages(std::span<std::byte> pages) const {
  if (!works_ || forked) return false;
  std::size_t report = 0;
  for (const pmemsim_region& region : regions_) {
    // The use of unmapped memory is unknown.
    if (msync(region.bytes, region.size, MS_ASYNC) != 0) return false;
    const std::uint64_t begin = address_of(region);
    const auto used = pages_used(getpid(), begin, begin + pages_of(region.size) * kReadBytes);
    if (!used) return false;
    for (const bool page : *used) pages[report++] = page ? std::byte{1} : std::byte{0};
  }
  return true;
}

}  // namespace pmemsim
