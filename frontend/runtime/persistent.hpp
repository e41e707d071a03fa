// The persistent memory of the program (persistent.cpp), and its mappings (mapping.cpp).
#pragma once

#include <cstdint>

#include "address_range.hpp"
#include "reserved_memory.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {

// A mapped file, or other persistent memory.
struct Memory {
  std::uint64_t device = 0, inode = 0;  // 0: not a file
  std::uint64_t trace_address = 0;      // address in the trace; 0: none yet
  std::uint64_t bytes = 0;              // bytes from `trace_address` on that have been mapped
  std::uint64_t reserved_bytes = 0;     // bytes from `trace_address` on that no other memory uses
  std::uint32_t source = 0;             // offset into memory_sources, if it is persistent
  bool persistent = false;
  bool is_range = false;  // persistent by address, whatever is mapped there
  bool is_hint = false;   // requested at an address of --pm-hint; mappings adjacent in the trace
};
extern List<Memory, 1u << 20> memories;
extern List<char, 1u << 24> memory_sources;

// Must be called before there is a second thread. Later the kernel needs ten milliseconds for a
// descriptor table that is large enough for the files' descriptors.
void grow_descriptor_table();
// Reads the environment; ends the program if its values are impossible.
void configure_persistent_memory();
// Writes the contents of all persistent memory, when recording begins.
void write_images();
bool is_persistent(const void* address);
bool is_zero_page(const void* page);
// True if any of the program's addresses [begin, end) is persistent. The heap that counts as PM is
// excluded.
bool has_persistent(std::uint64_t begin, std::uint64_t end);
// Calls visit(data, begin, end), with addresses of the trace, for each persistent part of the
// program's addresses [begin, end).
void visit_persistent_parts(std::uint64_t begin, std::uint64_t end,
                            void (*visit)(void*, std::uint64_t, std::uint64_t), void* data);
// Returns the persistent memory of an open file that the program has mapped; nullptr: it has none.
const Memory* persistent_file(int descriptor);
// Calls visit(data, trace_address, page) for each readable persistent page of [begin, end);
// `trace_address` is the page's address in the trace.
void visit_persistent_pages(std::uint64_t begin, std::uint64_t end,
                            void (*visit)(void*, std::uint64_t, const void*), void* data);
template <class Visit>
void for_each_persistent_page(std::uint64_t begin, std::uint64_t end, Visit visit) {
  visit_persistent_pages(
      begin, end,
      [](void* data, std::uint64_t trace_address, const void* page) {
        (*static_cast<Visit*>(data))(trace_address, page);
      },
      &visit);
}
// Sets `found` to the persistent memory that contains the trace address; false if there is none.
bool find_persistent(std::uint64_t trace_address, Range& found);
// Returns the address at which to map a file so that its address in the trace is the same. Returns
// 0 if the file isn't persistent: any address will do.
std::uint64_t preferred_address(int descriptor, std::uint64_t offset, std::uint64_t bytes);
// Note that the program has mapped a file, volatile memory without a file, or persistent memory
// without a file.
void file_mapped(std::uint64_t begin, std::uint64_t end, int descriptor, std::uint64_t offset,
                 bool asked);
void memory_mapped(std::uint64_t begin, std::uint64_t end);
void persistent_memory_mapped(std::uint64_t begin, std::uint64_t end, const char* source,
                              bool asked);
std::uint32_t add_source(const char* source);
// Returns the address for memory that the program requests at `asked`. This is `asked` itself,
// unless --pm-hint names it and an earlier mapping is already there.
std::uint64_t preferred_to(std::uint64_t asked);
// Notes a request for memory at an address, which --pm-hint may name; the memory is at [begin,
// end).
void hint_mapped(std::uint64_t asked, std::uint64_t begin, std::uint64_t end);
// Notes that memory mapped at `old` is now also at [begin, end).
void remapped(const Mapping& old, std::uint64_t begin, std::uint64_t end);
// Returns the part from `address` on of the mapping or persistent range that contains it; an empty
// one of kVolatile if there is none.
Mapping mapping_at(std::uint64_t address);
// Calls visit(begin, end) for the parts of persistent memory in the trace that are in [begin, end).
template <class Visit>
void for_each_persistent_range(std::uint64_t begin, std::uint64_t end, Visit visit) {
  for (const Memory& memory : memories) {
    const std::uint64_t first = begin > memory.trace_address ? begin : memory.trace_address;
    const std::uint64_t last =
        end < memory.trace_address + memory.bytes ? end : memory.trace_address + memory.bytes;
    if (first < last) visit(memory, first, last);
  }
}
// Memory that the program has requested at an address without getting that one.
struct Displaced {
  Range range;
  std::uint64_t asked;
};
const Displaced* find_displaced(std::uint64_t address);  // nullptr: the address is in none
// Executes system call `number` if it maps memory; false: it doesn't.
bool call_mapping(long number, const long* arguments, long* result);
// If nothing is mapped there, keeps the addresses free unless the program requests them.
bool keep_vacant(std::uint64_t begin, std::uint64_t end);

}  // namespace pmemsim::rt
