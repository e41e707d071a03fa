// The system calls by which programs map memory.
#include <cstdarg>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "address_range.hpp"
#include "contents.hpp"
#include "exported.hpp"
#include "file_data.hpp"
#include "persistent.hpp"
#include "placement.hpp"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {

namespace {

constexpr std::uint64_t kPage = trace::kImagePageBytes;

// Addresses where persistent memory was mapped. The trace declares them persistent for the whole
// recording, so no other memory may be mapped there unless the program requests the address.
List<Mapping, 1u << 20> vacated;

std::uint64_t page_end(std::uint64_t address) { return (address + kPage - 1) & ~(kPage - 1); }
std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

bool is_shared_file(int flags) {
  return (flags & MAP_ANONYMOUS) == 0 && (flags & MAP_TYPE) != MAP_PRIVATE;
}

void release_vacated(std::uint64_t begin, std::uint64_t end) {
  for (std::size_t i = 0; i < vacated.size();) {
    const Mapping mapping = vacated[i];
    if (mapping.end <= begin || end <= mapping.begin) {
      ++i;
      continue;
    }
    real.syscall(SYS_munmap, mapping.begin, mapping.end - mapping.begin);
    vacated[i] = vacated[vacated.size() - 1];
    vacated.shrink(vacated.size() - 1);
  }
}

// Makes [begin, end) available because the program requests these addresses.
void make_available(std::uint64_t begin, std::uint64_t end) {
  release_vacated(begin, end);
  release_filler(begin, end);
}

List<Displaced, 1u << 20> displaced;

// Notes that the program has requested `requested_address` and got [begin, end).
void note_request(std::uint64_t requested_address, std::uint64_t begin, std::uint64_t end) {
  if (begin != requested_address) displaced.push({{begin, end}, requested_address});
  hint_mapped(requested_address, begin, end);
}

// Called before [begin, end) is unmapped.
void unmapping(std::uint64_t begin, std::uint64_t end) {
  if (recording()) write_contents(begin, end);
}

// Called after [begin, end) has been unmapped.
void unmapped(std::uint64_t begin, std::uint64_t end) {
  remove_mappings(begin, end);
  for_each_persistent_range(begin, end,
                            [](const Memory& memory, std::uint64_t first, std::uint64_t last) {
                              if (!memory.is_range) keep_vacant(first, last);
                            });
}

}  // namespace

bool keep_vacant(std::uint64_t begin, std::uint64_t end) {
  const long got =
      real.syscall(SYS_mmap, begin, end - begin, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != -1) vacated.push({begin, end, begin, 0, kVolatile});
  return got != -1;
}

const Displaced* find_displaced(std::uint64_t address) {
  for (std::size_t i = displaced.size(); i-- > 0;) {  // from the latest on
    const Range& range = displaced[i].range;
    if (address >= range.begin && address < range.end) return &displaced[i];
  }
  return nullptr;
}

bool call_mapping(long number, const long* arguments, long* result) {
  const auto memory = reinterpret_cast<void*>(arguments[0]);
  const auto bytes = static_cast<std::size_t>(arguments[1]);
  const auto third = arguments[2];
  const auto flags = static_cast<int>(arguments[3]);
  switch (number) {
    case SYS_mmap:
      *result = reinterpret_cast<long>(mmap(memory, bytes, static_cast<int>(third), flags,
                                            static_cast<int>(arguments[4]), arguments[5]));
      return true;
    case SYS_munmap:
      *result = munmap(memory, bytes);
      return true;
    case SYS_msync:
      *result = msync(memory, bytes, static_cast<int>(third));
      return true;
    case SYS_mremap:
      *result = reinterpret_cast<long>(
          mremap(memory, bytes, static_cast<std::size_t>(third), flags, arguments[4]));
      return true;
    default:
      return false;
  }
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// The functions below make the system calls directly, so that no C library function has to be
// looked up.

PMEMSIM_EXPORT void* mmap(void* wanted, std::size_t bytes, int access, int flags, int descriptor,
                          off_t offset) noexcept {
  const bool file = is_shared_file(flags) && active();
  const bool asked = wanted != nullptr;
  std::uint64_t requested_address = address_of(wanted);
  if (file && !asked) {
    requested_address = preferred_address(descriptor, static_cast<std::uint64_t>(offset), bytes);
  } else if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == 0) {
    requested_address = preferred_to(requested_address);
  }
  if (requested_address != 0)
    make_available(requested_address, page_end(requested_address + bytes));
  if ((flags & MAP_FIXED) != 0) unmapping(requested_address, page_end(requested_address + bytes));
  const long got =
      real.syscall(SYS_mmap, requested_address, bytes, access, flags, descriptor, offset);
  if (got == -1) return MAP_FAILED;
  const auto begin = static_cast<std::uint64_t>(got);
  const std::uint64_t end = page_end(begin + bytes);
  if (file) {
    file_mapped(begin, end, descriptor, static_cast<std::uint64_t>(offset),
                asked && begin == requested_address);
  } else if (mode != Mode::kOff) {
    memory_mapped(begin, end);
  }
  if (asked && mode != Mode::kOff) note_request(address_of(wanted), begin, end);
  return reinterpret_cast<void*>(got);
}
PMEMSIM_EXPORT void* mmap64(void* wanted, std::size_t bytes, int access, int flags, int descriptor,
                            off_t offset) noexcept {
  return mmap(wanted, bytes, access, flags, descriptor, offset);
}
PMEMSIM_EXPORT int munmap(void* begin, std::size_t bytes) noexcept {
  unmapping(address_of(begin), page_end(address_of(begin) + bytes));
  const long got = real.syscall(SYS_munmap, begin, bytes);
  if (got == 0 && mode != Mode::kOff)
    unmapped(address_of(begin), page_end(address_of(begin) + bytes));
  return static_cast<int>(got);
}
PMEMSIM_EXPORT int msync(void* begin, std::size_t bytes, int flags) {
  const std::uint64_t address = address_of(begin);
  const auto result = static_cast<int>(real.syscall(SYS_msync, begin, bytes, flags));
  if (result == 0 && (flags & MS_SYNC) != 0) note_msync(address, page_end(address + bytes));
  return result;
}
PMEMSIM_EXPORT void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags,
                            ...) noexcept {
  std::va_list list;
  va_start(list, flags);
  void* wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  if (wanted != nullptr) {
    make_available(address_of(wanted), page_end(address_of(wanted) + bytes));
    unmapping(address_of(wanted), page_end(address_of(wanted) + bytes));
  }
  if (bytes < old_bytes) unmapping(page_end(address_of(old) + bytes), address_of(old) + old_bytes);
  const long got = real.syscall(SYS_mremap, old, old_bytes, bytes, flags, wanted);
  if (got == -1) return MAP_FAILED;
  if (mode != Mode::kOff) {
    const auto begin = static_cast<std::uint64_t>(got);
    const std::uint64_t end = page_end(begin + bytes), before = address_of(old);
    const Mapping moved = mapping_at(before);
    // The addresses that the mapping no longer has: all old addresses if it moved, otherwise the
    // addresses behind its new end.
    const std::uint64_t left = before == begin ? end : before;
    const bool stays = old_bytes == 0 || (flags & MREMAP_DONTUNMAP) != 0;
    if (!stays && left < page_end(before + old_bytes)) unmapped(left, page_end(before + old_bytes));
    remapped(moved, begin, end);
  }
  return reinterpret_cast<void*>(got);
}
