// Which memory of the program is persistent (persistent.cpp), and how it gets mapped (mapping.cpp).
#pragma once

#include <cstdint>

#include "address_range.hpp"
#include "places.hpp"
#include "reserved_memory.hpp"

namespace pmemsim::rt {

// A file that is mapped, or other memory that persists.
struct Memory {
  std::uint64_t device = 0, inode = 0;  // 0: not a file
  std::uint64_t place = 0;              // in the trace; 0: none yet
  std::uint64_t bytes = 0;              // from `place` on that have been mapped
  std::uint64_t room = 0;               // from `place` on that nothing else has
  std::uint32_t source = 0;             // into memory_sources, if it is persistent
  bool persistent = false;
  bool is_range = false;  // persistent by address, whatever is mapped there
  bool is_hint = false;   // what is asked for at `place`, one behind the other
};
extern List<Memory, 1u << 20> memories;
extern List<char, 1u << 24> memory_sources;

// Before there is a second thread: then the kernel takes ten milliseconds for a table of
// descriptors that has room for those of the files.
void make_room_for_descriptors();
// From the environment; ends the program if that says something impossible.
void configure_persistent_memory();
// The contents of all persistent memory, when recording begins.
void write_images();
bool is_persistent(const void* address);
bool is_zero_page(const void* page);
// Is any of the program's addresses [begin, end) persistent? The heap that counts as PM isn't
// meant.
bool has_persistent(std::uint64_t begin, std::uint64_t end);
// Calls visit(data, place, page) for each page of these that can be read; `place` is the trace's.
void visit_persistent_pages(std::uint64_t begin, std::uint64_t end,
                            void (*visit)(void*, std::uint64_t, const void*), void* data);
template <class Visit>
void for_each_persistent_page(std::uint64_t begin, std::uint64_t end, Visit visit) {
  visit_persistent_pages(
      begin, end,
      [](void* data, std::uint64_t place, const void* page) {
        (*static_cast<Visit*>(data))(place, page);
      },
      &visit);
}
// Into `found`: the persistent memory of the trace that has the address; false: none has.
bool find_persistent(std::uint64_t place, Range& found);
// Where to map a file, so that nothing has to be moved; 0: anywhere, since it isn't persistent.
std::uint64_t preferred_address(int descriptor, std::uint64_t offset, std::uint64_t bytes);
// The program has mapped a file, other memory, or other memory that is persistent.
void file_mapped(std::uint64_t begin, std::uint64_t end, int descriptor, std::uint64_t offset,
                 bool asked);
void memory_mapped(std::uint64_t begin, std::uint64_t end);
void persistent_memory_mapped(std::uint64_t begin, std::uint64_t end, const char* source,
                              bool asked);
std::uint32_t add_source(const char* source);
// Where to map what the program asks for at an address: there, unless --pm-hint names it and
// something of it is there.
std::uint64_t preferred_to(std::uint64_t asked);
// The program has asked for memory at an address, which --pm-hint may name; it is at [begin, end).
void hint_mapped(std::uint64_t asked, std::uint64_t begin, std::uint64_t end);
// What was mapped at `old` is at [begin, end) now, too.
void remapped(const Mapping& old, std::uint64_t begin, std::uint64_t end);
// What `address` is in; of memory that isn't persistent: nothing in particular.
Mapping mapping_at(std::uint64_t address);
// Calls visit(begin, end) for what the trace has of persistent memory in [begin, end).
template <class Visit>
void for_each_place_in(std::uint64_t begin, std::uint64_t end, Visit visit) {
  for (const Memory& memory : memories) {
    const std::uint64_t first = begin > memory.place ? begin : memory.place;
    const std::uint64_t last =
        end < memory.place + memory.bytes ? end : memory.place + memory.bytes;
    if (first < last) visit(memory, first, last);
  }
}
// Memory that the program has asked for at an address without getting that one.
struct Displaced {
  Range range;
  std::uint64_t asked;
};
const Displaced* find_displaced(std::uint64_t address);  // nullptr: the address is in none
// Does system call `number` if it is one that maps memory; false: it isn't.
bool call_mapping(long number, const long* arguments, long* result);
// If nothing is mapped there, nothing comes to stand there unless the program asks for it.
bool keep_vacant(std::uint64_t begin, std::uint64_t end);

extern std::uint64_t msync_count;  // calls of persistent memory, while recording (mapping.cpp)

}  // namespace pmemsim::rt
