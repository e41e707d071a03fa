// Counts, while recording, the flushes of lines that aren't persistent memory, by the kind of
// memory at the address. Such flushes show a user that an option of `pmemsim record` is missing.
#include "flushes.hpp"

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include <dlfcn.h>

#include "address_range.hpp"
#include "kernel_mappings.hpp"
#include "persistent.hpp"
#include "reserved_memory.hpp"
#include "stacks.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {

std::uint64_t flush_count = 0;
List<FlushedMemory, kFlushedMemoryCapacity> flushed_memory;

namespace {

// The memory of the last flush of persistent memory, and the index in flushed_memory of the last
// flush of other memory.
Range last_persistent{};
std::size_t last_flushed = 0;

bool contains(const Range& range, std::uint64_t address) {
  return address >= range.begin && address < range.end;
}

// True for the kernel's names of memory that processes share without a file of a folder: an
// anonymous mapping, one of memfd_create(), one of shmget().
bool names_no_file(const char* name) {
  for (const char* beginning : {"/dev/zero (deleted)", "/memfd:", "/SYSV"}) {
    if (std::strncmp(name, beginning, std::strlen(beginning)) == 0) return true;
  }
  return false;
}

FlushedKind kind_of_named(std::uint64_t address, const MappedRange& mapped) {
  if (names_no_file(mapped.name)) return FlushedKind::kShared;
  if (mapped.shared) return FlushedKind::kFile;
  Dl_info object;
  const bool loaded = dladdr(reinterpret_cast<const void*>(address), &object) != 0;
  return loaded ? FlushedKind::kData : FlushedKind::kPrivate;
}

// Returns what the kernel's list of mappings says about the mapping with the address.
FlushedMemory look_up(std::uint64_t address) {
  FlushedMemory found{{address, address + 1}, FlushedKind::kAnonymous, 0, 0, 0};
  for_each_mapping([&](const MappedRange& mapped) {
    if (!contains(mapped.range, address)) return;
    found.range = mapped.range;
    if (std::strcmp(mapped.name, "[heap]") == 0) {
      found.kind = FlushedKind::kHeap;
    } else if (std::strcmp(mapped.name, "[stack]") == 0 || is_stack(address)) {
      found.kind = FlushedKind::kStack;
    } else if (mapped.name[0] == '/') {
      found.kind = kind_of_named(address, mapped);
      found.source = add_source(mapped.name);
    }
  });
  return found;
}

// True if the address is in memory that the program has requested at another address.
bool is_displaced(std::uint64_t address, FlushedMemory& found) {
  const Displaced* displaced = find_displaced(address);
  if (displaced == nullptr) return false;
  found = {displaced->range, FlushedKind::kAnonymous, displaced->asked, 0, 0};
  return true;
}

// Returns the entry for the address. If the list is full, the entry used last counts the rest.
FlushedMemory& memory_of(std::uint64_t address) {
  for (std::size_t i = 0; i < flushed_memory.size(); ++i) {
    if (contains(flushed_memory[(last_flushed + i) % flushed_memory.size()].range, address)) {
      last_flushed = (last_flushed + i) % flushed_memory.size();
      return flushed_memory[last_flushed];
    }
  }
  if (flushed_memory.size() == kFlushedMemoryCapacity) return flushed_memory[last_flushed];
  FlushedMemory found{};
  if (!is_displaced(address, found)) found = look_up(address);
  last_flushed = flushed_memory.size();
  flushed_memory.push(found);
  return flushed_memory[last_flushed];
}

}  // namespace

void note_flush(const volatile void* address) {
  ++flush_count;
  const std::uint64_t trace_address = trace_address_of(address);
  if (contains(last_persistent, trace_address)) return;
  if (find_persistent(trace_address, last_persistent)) return;
  ++memory_of(std::uint64_t{reinterpret_cast<std::uintptr_t>(address)}).flushes;
}

}  // namespace pmemsim::rt
