// Decides which memory is persistent, its addresses in the trace, and its contents when recording
// begins.
//
// The persistent object is a file, not a mapping of it:
//  1. A file is identified by device and inode, not by name. It is one memory with one *trace
//     range*: its addresses in the trace. Offset o of the file has the address o behind the range's
//     begin, however often, whenever and wherever the program maps it. Memory without a file that
//     pm.h declares persistent is a new memory each time that it is mapped. Memory that the program
//     requests at an address of --pm-hint is one memory, in which each mapping gets the addresses
//     behind the previous mapping.
//  2. The trace range begins at the address that the program requests and gets when it first maps
//     the file. The program must map it whole there, and no other persistent memory may have been
//     at these addresses. Otherwise the trace range has addresses that no program has. If the
//     program leaves the address to the system, the runtime maps the file at its trace range. So
//     addresses in the trace differ from the program's only if parts of a file are mapped twice.
//  3. Accesses to a mapping outside its trace range get other addresses before their records are
//     written. The same holds for memory that isn't persistent, and is mapped in a trace range.
//  4. A file that is mapped privately (MAP_PRIVATE) isn't persistent.
//  5. The trace has the contents of each page from when it is first mapped; if recording begins
//     later, from that time.
// An access that crosses from one mapping into the next counts as an access to the first of them.
#include "persistent.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "address_range.hpp"
#include "contents.hpp"
#include "exported.hpp"
#include "heap.hpp"
#include "kernel_mappings.hpp"
#include "output.hpp"
#include "pmemsim_rt.h"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {

List<Memory, 1u << 20> memories;
List<char, 1u << 24> memory_sources;

namespace {

constexpr std::uint64_t kPage = trace::kImagePageBytes;
// Limits of how much a file can grow beyond its size when its trace range was chosen.
constexpr std::uint64_t kLeastGrowth = std::uint64_t{8} << 30, kMostGrowth = std::uint64_t{1} << 40;
constexpr std::uint64_t kGrowthFactor = 16;
// Descriptors by which the runtime keeps files from being deleted: the numbers are above those that
// most programs use, and some higher numbers remain free.
constexpr int kFirstHeldDescriptor = 512, kLastHeldDescriptor = 767;

const char* pm_path = nullptr;  // folders, separated by colons

List<Range, 1u << 20> imaged;  // ranges whose contents are in the trace

std::uint64_t page_begin(std::uint64_t address) { return address & ~(kPage - 1); }
std::uint64_t page_end(std::uint64_t address) { return page_begin(address + kPage - 1); }
std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return a > b ? a : b; }
std::uint64_t smaller(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

// True if the page can be read. A mapping may be longer than its file, and pages behind the file's
// end can't be touched. A system call tests this without a signal: the kernel reads a signal set at
// the address before it rejects the invalid request.
bool is_backed(std::uint64_t page) {
  constexpr long kNoRequest = -1, kSignalSetBytes = 8;
  return real.syscall(SYS_rt_sigprocmask, kNoRequest, page, nullptr, kSignalSetBytes) != -1 ||
         errno != EFAULT;
}

bool is_imaged(std::uint64_t page) {
  for (const Range& range : imaged) {
    if (page >= range.begin && page < range.end) return true;
  }
  return false;
}

// Calls visit(page) for each page of [begin, end) that can be read.
template <class Visit>
void for_each_page(std::uint64_t begin, std::uint64_t end, Visit visit) {
  for_each_mapping([&](const MappedRange& mapped) {
    const std::uint64_t first = larger(mapped.range.begin, begin);
    const std::uint64_t last = smaller(mapped.range.end, end);
    if (!mapped.readable) return;
    for (std::uint64_t page = page_begin(first); page < last && is_backed(page); page += kPage) {
      visit(page);
    }
  });
}

// Writes those pages of [begin, end), at `trace_address` in the trace, that aren't in an image yet.
void write_image_of(std::uint64_t begin, std::uint64_t end, std::uint64_t trace_address) {
  Stream image(trace::FrameKind::kImage);
  for_each_page(begin, end, [&](std::uint64_t page) {
    const auto* bytes = reinterpret_cast<const void*>(page);
    const std::uint64_t address = trace_address_of(page);
    if (is_imaged(address) || is_zero_page(bytes)) return;
    image.keep_together(sizeof(address) + kPage);
    image.put(&address, sizeof(address));
    image.put(bytes, kPage);
    note_image_page(address, bytes);
  });
  imaged.push({page_begin(trace_address), page_end(trace_address + (end - begin))});
}

// Calls visit(begin, end) for the persistent parts of [begin, end), except the heap.
template <class Visit>
void for_each_persistent_part(std::uint64_t begin, std::uint64_t end, Visit visit) {
  const auto visit_part = [&](std::uint64_t first, std::uint64_t last) {
    first = larger(first, begin);
    last = smaller(last, end);
    if (first < last) visit(first, last);
  };
  for (const Memory& memory : memories) {
    if (memory.is_range) visit_part(memory.trace_address, memory.trace_address + memory.bytes);
  }
  for (const Mapping& mapping : mappings) {
    if (mapping.memory == kVolatile || !memories[mapping.memory].persistent) continue;
    visit_part(mapping.begin, mapping.end);
  }
}

void write_image_of(const Mapping& mapping) {
  if (mapping.memory != kVolatile && memories[mapping.memory].persistent) {
    write_image_of(mapping.begin, mapping.end, mapping.trace_address);
  }
}

// True if the file is below one of the folders of PMEMSIM_PM_PATH.
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

std::uint32_t add_memory(const Memory& memory) {
  if (!memories.push(memory)) fail("%s maps too many files", program_name);
  return static_cast<std::uint32_t>(memories.size() - 1);
}

// Keeps the file open, so that no other file gets its inode. It is open without access (O_PATH), so
// that no lock of the program's depends on it.
void hold(const char* link) {
  const int opened =
      static_cast<int>(real.syscall(SYS_openat, AT_FDCWD, link, O_PATH | O_CLOEXEC, 0));
  if (opened < 0) return;
  const int held = fcntl(opened, F_DUPFD_CLOEXEC, kFirstHeldDescriptor);
  if (held > kLastHeldDescriptor) close(held);
  close(opened);
}

void find_out_persistence(Memory& memory, const char* link) {
  char file[4096];
  const ssize_t length = readlink(link, file, sizeof(file) - 1);
  if (length <= 0) return;
  file[length] = '\0';
  if (!is_below_pm_path(file)) return;
  memory.persistent = true;
  memory.source = add_source(file);
}

// Returns the number of the memory with a file's device and inode; memories.size(): there is none.
std::uint32_t number_of(const struct stat& status) {
  std::uint32_t number = 0;
  while (number < memories.size() &&
         (memories[number].inode != status.st_ino || memories[number].device != status.st_dev)) {
    ++number;
  }
  return number;
}

// Returns the number of the memory of an open file; kVolatile: the descriptor has no file.
std::uint32_t file_of(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return kVolatile;
  char link[64];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const std::uint32_t number = number_of(status);
  if (number == memories.size()) {
    add_memory({.device = status.st_dev, .inode = status.st_ino});
    hold(link);
  }
  if (!memories[number].persistent && pm_path != nullptr) {
    find_out_persistence(memories[number], link);
  }
  return number;
}

std::uint64_t bytes_of(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool is_free(std::uint64_t begin, std::uint64_t end) {
  bool free = true;
  for_each_persistent_range(begin, end,
                            [&](const Memory&, std::uint64_t, std::uint64_t) { free = false; });
  return free;
}

// Chooses the trace range (rule 2) of a memory of `bytes` bytes. `wanted`: the preferred address,
// or 0.
void assign_trace_range(Memory& memory, std::uint64_t bytes, std::uint64_t wanted) {
  if (memory.trace_address != 0) return;
  if (wanted != 0 && is_free(wanted, wanted + bytes)) {
    memory.trace_address = wanted;
    memory.reserved_bytes = bytes;
    return;
  }
  std::uint64_t growth = bytes * (kGrowthFactor - 1);
  if (growth < kLeastGrowth) growth = kLeastGrowth;
  if (growth > kMostGrowth) growth = kMostGrowth;
  memory.reserved_bytes = page_end(bytes + growth);
  memory.trace_address = reserve_trace_addresses(memory.reserved_bytes);
}

// Extends the memory, which is mapped up to `bytes` bytes, currently at [begin, end).
void grow(Memory& memory, std::uint64_t bytes, std::uint64_t begin, std::uint64_t end) {
  if (bytes <= memory.bytes) return;
  if (bytes > memory.reserved_bytes) {
    const std::uint64_t first = memory.trace_address + memory.reserved_bytes,
                        last = memory.trace_address + bytes;
    const bool is_there = begin <= first && last <= end;
    if (is_reserved_trace_address(memory.trace_address) || !is_free(first, last) ||
        (!is_there && !keep_vacant(first, last))) {
      fail(
          "%s grew beyond its first mapping, and the following addresses are in use; set the "
          "file's length before mapping it, or let the system choose the address",
          &memory_sources[memory.source]);
    }
    memory.reserved_bytes = bytes;
  }
  memory.bytes = bytes;
}

// Rule 3: returns the trace address of memory that isn't persistent.
std::uint64_t volatile_trace_address(std::uint64_t begin, std::uint64_t end) {
  bool taken = false;
  for_each_persistent_range(begin, end, [&](const Memory& memory, std::uint64_t, std::uint64_t) {
    if (!memory.is_range) taken = true;
  });
  return taken ? reserve_trace_addresses(page_end(end - begin)) : begin;
}

void map(std::uint64_t begin, std::uint64_t end, std::uint32_t number, std::uint64_t offset) {
  Memory& memory = memories[number];
  Mapping mapping{begin, end, 0, offset, number};
  if (memory.persistent) {
    grow(memory, offset + (end - begin), begin, end);
    mapping.trace_address = memory.trace_address + offset;
  } else {
    mapping.trace_address = volatile_trace_address(begin, end);
  }
  add_mapping(mapping);
  if (recording()) write_image_of(mapping);
}

// Makes a file that was mapped before persistent.
void becomes_persistent(std::uint32_t number, const Mapping& first) {
  Memory& memory = memories[number];
  memory.persistent = true;
  assign_trace_range(memory, first.end - first.begin, first.offset == 0 ? first.begin : 0);
  move_mappings(number, memory.trace_address);
  for (const Mapping& mapping : mappings) {
    if (mapping.memory != number) continue;
    grow(memory, mapping.offset + (mapping.end - mapping.begin), mapping.begin, mapping.end);
    if (recording()) write_image_of(mapping);
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
    add_memory({.trace_address = low,
                .bytes = high - low,
                .reserved_bytes = high - low,
                .source = add_source("--pm-range"),
                .persistent = true,
                .is_range = true});
    at = *end == ',' ? end + 1 : end;
  }
}

void add_hints(const char* hints) {
  for (const char* at = hints; *at != '\0';) {
    char* end = nullptr;
    const std::uint64_t address = std::strtoull(at, &end, 16);
    if (address == 0 || address % kPage != 0 || address >= trace::kMaxAddress ||
        (*end != ',' && *end != '\0')) {
      fail("PMEMSIM_PM_HINT is \"%s\"; it must be ADDRESS[,ADDRESS...], of pages, in hexadecimal",
           hints);
    }
    add_memory({.trace_address = address,
                .source = add_source("--pm-hint"),
                .persistent = true,
                .is_hint = true});
    at = *end == ',' ? end + 1 : end;
  }
}

// Returns the number of the --pm-hint memory for a requested address; kVolatile: there is none.
std::uint32_t hint_of(std::uint64_t asked) {
  for (std::uint32_t number = 0; number < memories.size(); ++number) {
    if (memories[number].is_hint && memories[number].trace_address == asked) return number;
  }
  return kVolatile;
}

}  // namespace

void grow_descriptor_table() {
  const int opened =
      static_cast<int>(real.syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0));
  if (opened < 0) return;
  const int held = fcntl(opened, F_DUPFD_CLOEXEC, kLastHeldDescriptor);
  if (held >= 0) close(held);
  close(opened);
}

void configure_persistent_memory() {
  if (const char* path = std::getenv("PMEMSIM_PM_PATH")) {
    char* copy = static_cast<char*>(allocate(std::strlen(path) + 1));
    std::strcpy(copy, path);
    pm_path = copy;
  }
  if (const char* ranges = std::getenv("PMEMSIM_PM_RANGE")) add_ranges(ranges);
  if (const char* hints = std::getenv("PMEMSIM_PM_HINT")) add_hints(hints);
}

std::uint32_t add_source(const char* source) {
  const auto number = static_cast<std::uint32_t>(memory_sources.size());
  for (const char* at = source;; ++at) {
    if (!memory_sources.push(*at)) fail("%s maps too many PM files", program_name);
    if (*at == '\0') return number;
  }
}

std::uint64_t preferred_address(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint32_t number = file_of(descriptor);
  if (number == kVolatile || !memories[number].persistent) return 0;
  assign_trace_range(memories[number], larger(offset + bytes, bytes_of(descriptor)), 0);
  return memories[number].trace_address + offset;
}

void file_mapped(std::uint64_t begin, std::uint64_t end, int descriptor, std::uint64_t offset,
                 bool asked) {
  const std::uint32_t number = file_of(descriptor);
  if (number == kVolatile) return memory_mapped(begin, end);
  Memory& memory = memories[number];
  if (memory.persistent) {
    const std::uint64_t mapped = offset + (end - begin), length = bytes_of(descriptor);
    const bool whole = offset == 0 && mapped >= length;
    assign_trace_range(memory, larger(mapped, length), whole && asked ? begin : 0);
  }
  map(begin, end, number, offset);
}

void memory_mapped(std::uint64_t begin, std::uint64_t end) {
  remove_mappings(begin, end);
  const std::uint64_t trace_address = volatile_trace_address(begin, end);
  if (trace_address != begin) add_mapping({begin, end, trace_address, 0, kVolatile});
}

void persistent_memory_mapped(std::uint64_t begin, std::uint64_t end, const char* source,
                              bool asked) {
  const Mapping there = mapping_at(begin);
  std::uint32_t number = there.memory;
  if (number == kVolatile) {
    number = add_memory({.source = add_source(source), .persistent = true});
    assign_trace_range(memories[number], end - begin, asked ? begin : 0);
    return map(begin, end, number, 0);
  }
  Memory& memory = memories[number];
  if (memory.is_range) return;
  memory.source = add_source(source);
  if (!memory.persistent) becomes_persistent(number, there);
}

std::uint64_t preferred_to(std::uint64_t asked) {
  const std::uint32_t number = hint_of(asked);
  return number == kVolatile ? asked : asked + memories[number].bytes;
}

void hint_mapped(std::uint64_t asked, std::uint64_t begin, std::uint64_t end) {
  const std::uint32_t number = hint_of(asked);
  if (number == kVolatile) return;
  Memory& memory = memories[number];
  if (mapping_at(begin).memory != kVolatile || begin != preferred_to(asked) ||
      !is_free(begin, end)) {
    return persistent_memory_mapped(begin, end, "--pm-hint", false);
  }
  memory.reserved_bytes = memory.bytes + (end - begin);
  map(begin, end, number, memory.bytes);
}

void remapped(const Mapping& old, std::uint64_t begin, std::uint64_t end) {
  if (old.memory == kVolatile) return memory_mapped(begin, end);
  const Memory& memory = memories[old.memory];
  if (memory.is_range && end - begin > memory.bytes - old.offset) {
    end = begin + memory.bytes - old.offset;
  }
  map(begin, end, old.memory, old.offset);
}

Mapping mapping_at(std::uint64_t address) {
  if (const Mapping* found = find_mapping(address)) {
    Mapping rest = *found;
    rest.begin = address;
    rest.trace_address += address - found->begin;
    rest.offset += address - found->begin;
    return rest;
  }
  for (std::uint32_t number = 0; number < memories.size(); ++number) {
    const Memory& memory = memories[number];
    if (memory.is_range && address - memory.trace_address < memory.bytes) {
      return {address, memory.trace_address + memory.bytes, address, address - memory.trace_address,
              number};
    }
  }
  return {address, address, address, 0, kVolatile};
}

bool find_persistent(std::uint64_t trace_address, Range& found) {
  if (trace_address >= kHeapBase && trace_address < heap_end()) {
    found = {kHeapBase, heap_end()};
    return true;
  }
  for (const Memory& memory : memories) {
    if (trace_address - memory.trace_address >= memory.bytes) continue;
    found = {memory.trace_address, memory.trace_address + memory.bytes};
    return true;
  }
  return false;
}

bool is_persistent(const void* address) {
  Range found{};
  return find_persistent(trace_address_of(address), found);
}

bool is_zero_page(const void* page) {
  const auto* words = static_cast<const std::uint64_t*>(page);
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < kPage / sizeof(*words); ++i) any |= words[i];
  return any == 0;
}

bool has_persistent(std::uint64_t begin, std::uint64_t end) {
  bool has = false;
  for_each_persistent_part(begin, end, [&](std::uint64_t, std::uint64_t) { has = true; });
  return has;
}

void visit_persistent_parts(std::uint64_t begin, std::uint64_t end,
                            void (*visit)(void*, std::uint64_t, std::uint64_t), void* data) {
  for_each_persistent_part(begin, end, [&](std::uint64_t first, std::uint64_t last) {
    const std::uint64_t trace_address = trace_address_of(first);
    visit(data, trace_address, trace_address + (last - first));
  });
}

const Memory* persistent_file(int descriptor) {
  struct stat status{};
  if (memories.size() == 0 || fstat(descriptor, &status) != 0) return nullptr;
  const std::uint32_t number = number_of(status);
  const bool found = number < memories.size() && memories[number].persistent;
  return found && memories[number].bytes > 0 ? &memories[number] : nullptr;
}

void visit_persistent_pages(std::uint64_t begin, std::uint64_t end,
                            void (*visit)(void*, std::uint64_t, const void*), void* data) {
  for_each_persistent_part(begin, end, [&](std::uint64_t first, std::uint64_t last) {
    for_each_page(first, last, [&](std::uint64_t page) {
      visit(data, trace_address_of(page), reinterpret_cast<const void*>(page));
    });
  });
}

void write_images() {
  for (const Memory& memory : memories) {
    if (memory.is_range) {
      write_image_of(memory.trace_address, memory.trace_address + memory.bytes,
                     memory.trace_address);
    }
  }
  for (const Mapping& mapping : mappings) write_image_of(mapping);
  if (const std::uint64_t end = heap_end()) write_image_of(kHeapBase, end, kHeapBase);
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT void pmemsim_rt_pm_region(void* begin, std::uint64_t bytes, const char* source) {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(begin);
  if (mode != Mode::kOff) persistent_memory_mapped(address, address + bytes, source, true);
}
