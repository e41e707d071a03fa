#include "pmemsim/checker/host/page_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "pmemsim/checker/shared_reads.hpp"

namespace pmemsim {
namespace {

// What a child of the check's own reads isn't seen here.
bool forked = false;

void note_forks() {
  [[maybe_unused]] static const int kSet = pthread_atfork(nullptr, [] { forked = true; }, nullptr);
  forked = false;
}

// Of /proc/self/pagemap: the page is present, or swapped out or on its way elsewhere.
constexpr std::uint64_t kUsed = std::uint64_t{3} << 62;

std::uint64_t address_of(const pmemsim_region& region) {
  return reinterpret_cast<std::uint64_t>(region.bytes);
}

// The kernel could take pages out of the page table again to have room.
bool stays_in_memory(const pmemsim_region& region) {
  struct sysinfo info{};
  if (sysinfo(&info) == 0 && info.totalswap == 0) return true;
  return mlock2(region.bytes, region.size, MLOCK_ONFAULT) == 0;
}

// It may fail.
void bring_in_one_by_one(const pmemsim_region& region) {
  constexpr int kFirstNumber = 200;  // the check's own files have those that they always have
  const int opened = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
  if (opened < 0) return;
  const int file = fcntl(opened, F_DUPFD_CLOEXEC, kFirstNumber);
  close(opened);
  if (file < 0) return;
  uffdio_api api{};
  api.api = UFFD_API;
  if (ioctl(file, UFFDIO_API, &api) != 0) return;
  uffdio_register watched{};
  watched.range.start = address_of(region);
  watched.range.len = pages_of(region.size) * kReadBytes;
  watched.mode = UFFDIO_REGISTER_MODE_WP;
  ioctl(file, UFFDIO_REGISTER, &watched);
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
  bring_in_one_by_one(region);
}

bool PageWatch::tell(std::span<std::byte> pages) const {
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (!works_ || forked || pagemap < 0) return false;
  std::size_t told = 0;
  for (const pmemsim_region& region : regions_) {
    // Of what is no longer mapped nothing is known.
    if (msync(region.bytes, region.size, MS_ASYNC) != 0) return false;
    std::vector<std::uint64_t> entries(pages_of(region.size));
    const std::size_t size = entries.size() * sizeof(entries[0]);
    const auto at = static_cast<off_t>(address_of(region) / kReadBytes * sizeof(entries[0]));
    if (pread(pagemap, entries.data(), size, at) != static_cast<ssize_t>(size)) return false;
    for (const std::uint64_t entry : entries) {
      pages[told++] = (entry & kUsed) != 0 ? std::byte{1} : std::byte{0};
    }
  }
  close(pagemap);
  return true;
}

}  // namespace pmemsim
