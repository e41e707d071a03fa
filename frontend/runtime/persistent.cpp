// Which memory is persistent, and what it holds when recording begins.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.hpp"
#include "runtime.hpp"

namespace pmemsim::rt {

List<Region, 1u << 20> regions;
List<char, 1u << 24> region_sources;

namespace {

constexpr std::uint64_t kPage = trace::kImagePageBytes;

const char* pm_path = nullptr;  // folders, separated by colons
constexpr const char* kFromRange = "--pm-range";
List<Region, 1u << 20> imaged;  // whose contents are in the trace
// Where files were mapped. The trace says for the whole recording which addresses are persistent,
// so nothing else may come to stand there unless the program asks for the place.
List<Region, 1u << 20> vacated;

std::uint64_t page_begin(std::uint64_t address) { return address & ~(kPage - 1); }
std::uint64_t page_end(std::uint64_t address) { return page_begin(address + kPage - 1); }

bool is_zero(const std::uint64_t* page) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < kPage / sizeof(*page); ++i) any |= page[i];
  return any == 0;
}

// A mapping may be longer than its file; what is behind the file's end can't be touched. The kernel
// tells without a signal: it reads a signal set there before it finds that this isn't a request.
bool is_backed(std::uint64_t page) {
  constexpr long kNoRequest = -1, kSignalSetBytes = 8;
  return real.syscall(SYS_rt_sigprocmask, kNoRequest, page, nullptr, kSignalSetBytes) != -1 ||
         errno != EFAULT;
}

bool is_imaged(std::uint64_t page) {
  for (const Region& region : imaged) {
    if (page >= region.begin && page < region.end) return true;
  }
  return false;
}

// Of [begin, end), which is one mapping, what hasn't been imaged yet.
void write_image(Stream& image, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t page = page_begin(begin); page < end && is_backed(page); page += kPage) {
    const auto* bytes = reinterpret_cast<const std::uint64_t*>(page);
    if (is_imaged(page) || is_zero(bytes)) continue;
    image.keep_together(sizeof(page) + kPage);
    image.put(&page, sizeof(page));
    image.put(bytes, kPage);
  }
}

// The kernel tells what is mapped. Calls visit(begin, end) for each readable mapping.
template <class Visit>
void for_each_mapping(Visit visit) {
  const int descriptor = static_cast<int>(
      real.syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));
  if (descriptor < 0) return;
  char text[8192];
  std::size_t used = 0;
  for (;;) {
    const ssize_t got = real.read(descriptor, text + used, sizeof(text) - 1 - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
    text[used] = '\0';
    char* line = text;
    for (char* newline; (newline = std::strchr(line, '\n')) != nullptr; line = newline + 1) {
      *newline = '\0';
      unsigned long begin = 0, end = 0;
      char readable = '-';
      if (std::sscanf(line, "%lx-%lx %c", &begin, &end, &readable) == 3 && readable == 'r') {
        visit(std::uint64_t{begin}, std::uint64_t{end});
      }
    }
    used = static_cast<std::size_t>(text + used - line);
    std::memmove(text, line, used);
  }
  close(descriptor);
}

void write_image_of(const Region& region) {
  Stream image(trace::FrameKind::kImage);
  for_each_mapping([&](std::uint64_t begin, std::uint64_t end) {
    if (begin < region.begin) begin = region.begin;
    if (end > region.end) end = region.end;
    if (begin < end) write_image(image, begin, end);
  });
  imaged.push({page_begin(region.begin), page_end(region.end), 0});
}

// Is the file below one of the folders of PMEMSIM_PM_PATH?
bool is_below_pm_path(const char* file) {
  for (const char* folder = pm_path; folder != nullptr && *folder != '\0';) {
    const char* end = strchrnul(folder, ':');
    char wanted[4096], resolved[4096];
    std::snprintf(wanted, sizeof(wanted), "%.*s", static_cast<int>(end - folder), folder);
    if (realpath(wanted, resolved) != nullptr) {
      const std::size_t length = std::strlen(resolved);
      if (length == 1 || (std::strncmp(file, resolved, length) == 0 &&
                          (file[length] == '/' || file[length] == '\0'))) {
        return true;
      }
    }
    folder = *end == ':' ? end + 1 : end;
  }
  return false;
}

void note_mapping(void* begin, std::size_t bytes, int descriptor) {
  if (pm_path == nullptr || descriptor < 0 || !active()) return;
  char link[64], file[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, file, sizeof(file) - 1);
  if (length <= 0) return;
  file[length] = '\0';
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(begin);
  if (is_below_pm_path(file)) add_region(address, page_end(address + bytes), file);
}

// What is persistent of [begin, end), which has just been unmapped.
void keep_vacant(std::uint64_t begin, std::uint64_t end) {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const Region region = regions[i];
    if (std::strcmp(&region_sources[region.source], kFromRange) == 0) continue;
    const Region part{begin > region.begin ? begin : region.begin,
                      end < region.end ? end : region.end, region.source};
    if (part.begin >= part.end) continue;
    const long got =
        syscall(SYS_mmap, part.begin, part.end - part.begin, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != -1) vacated.push(part);
  }
}

// The program asks for the place [begin, end).
void release_vacated(std::uint64_t begin, std::uint64_t end) {
  for (std::size_t i = 0; i < vacated.size();) {
    const Region region = vacated[i];
    if (region.end <= begin || end <= region.begin) {
      ++i;
      continue;
    }
    syscall(SYS_munmap, region.begin, region.end - region.begin);
    vacated[i] = vacated[vacated.size() - 1];
    vacated.shrink(vacated.size() - 1);
  }
}

void add_ranges(const char* ranges) {
  for (const char* at = ranges; *at != '\0';) {
    char* end = nullptr;
    const std::uint64_t low = std::strtoull(at, &end, 16);
    const std::uint64_t high = *end == ':' ? std::strtoull(end + 1, &end, 16) : 0;
    if (low >= high || high > trace::kMaxAddress || (*end != ',' && *end != '\0')) {
      fail("PMEMSIM_PM_RANGE is \"%s\"; it must be LO:HI[,LO:HI...], in hexadecimal, LO below HI",
           ranges);
    }
    add_region(low, high, kFromRange);
    at = *end == ',' ? end + 1 : end;
  }
}

}  // namespace

void configure_persistent_memory() {
  if (const char* path = std::getenv("PMEMSIM_PM_PATH")) {
    char* copy = static_cast<char*>(allocate(std::strlen(path) + 1));
    std::strcpy(copy, path);
    pm_path = copy;
  }
  if (const char* ranges = std::getenv("PMEMSIM_PM_RANGE")) add_ranges(ranges);
}

void add_region(std::uint64_t begin, std::uint64_t end, const char* source) {
  for (const Region& region : regions) {
    if (region.begin <= begin && end <= region.end) return;  // pm_open maps a file under --pm-path
  }
  const Region region{begin, end, static_cast<std::uint32_t>(region_sources.size())};
  for (const char* at = source;; ++at) {
    if (!region_sources.push(*at)) fail("%s maps too many PM files", program_name);
    if (*at == '\0') break;
  }
  if (!regions.push(region)) fail("%s maps too many PM files", program_name);
  if (recording()) write_image_of(region);
}

bool is_persistent(const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (address >= kHeapBase && address < heap_end()) return true;
  for (const Region& region : regions) {
    if (region.begin <= address && address < region.end) return true;
  }
  return false;
}

void write_images() {
  for (const Region& region : regions) write_image_of(region);
  if (const std::uint64_t end = heap_end()) write_image_of({kHeapBase, end, 0});
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT void pmemsim_rt_pm_region(void* begin, std::uint64_t bytes, const char* source) {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(begin);
  if (mode != Mode::kOff) add_region(address, address + bytes, source);
}

// mmap and munmap are system calls without anything around them, so there is nothing to look up,
// and they work before the runtime does.
PMEMSIM_EXPORT void* mmap(void* wanted, std::size_t bytes, int access, int flags, int descriptor,
                          off_t offset) noexcept {
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(wanted);
  if (wanted != nullptr) release_vacated(place, page_end(place + bytes));
  const long got = syscall(SYS_mmap, wanted, bytes, access, flags, descriptor, offset);
  if (got == -1) return MAP_FAILED;
  auto* begin = reinterpret_cast<void*>(got);
  if ((flags & MAP_ANONYMOUS) == 0) note_mapping(begin, bytes, descriptor);
  return begin;
}
PMEMSIM_EXPORT void* mmap64(void* wanted, std::size_t bytes, int access, int flags, int descriptor,
                            off_t offset) noexcept {
  return mmap(wanted, bytes, access, flags, descriptor, offset);
}
PMEMSIM_EXPORT int munmap(void* begin, std::size_t bytes) noexcept {
  const long got = syscall(SYS_munmap, begin, bytes);
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(begin);
  if (got == 0 && mode != Mode::kOff) keep_vacant(address, page_end(address + bytes));
  return static_cast<int>(got);
}
PMEMSIM_EXPORT void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags,
                            ...) noexcept {
  std::va_list list;
  va_start(list, flags);
  void* wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(wanted);
  if (wanted != nullptr) release_vacated(place, page_end(place + bytes));
  const long got = syscall(SYS_mremap, old, old_bytes, bytes, flags, wanted);
  if (got == -1) return MAP_FAILED;
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(old);
  for (std::size_t i = 0; mode != Mode::kOff && i < regions.size(); ++i) {
    const Region region = regions[i];
    if (region.begin <= address && address < region.end) {
      add_region(static_cast<std::uint64_t>(got), page_end(static_cast<std::uint64_t>(got) + bytes),
                 &region_sources[region.source]);
      keep_vacant(address, page_end(address + old_bytes));  // what it has left, if it has moved
      break;
    }
  }
  return reinterpret_cast<void*>(got);
}
