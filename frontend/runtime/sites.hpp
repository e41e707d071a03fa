// The table of sites, which the compiler pass has written into the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim::rt {

extern trace::SiteRecord* sites;
extern std::uint32_t* site_instructions;
extern std::uint8_t* site_lengths;  // trace::packed_length()
extern std::uint32_t site_count;
// Allocates the tables, unless they exist.
void make_site_tables();
// Must be called before records of a built-in site that exists on use are written.
void use_builtin_site(std::uint32_t site);
inline std::size_t record_bytes(const std::uint8_t* record) {
  std::uint32_t head;
  std::memcpy(&head, record, sizeof(head));
  const std::size_t packed = site_lengths[head >> 1];
  const std::size_t fixed = packed & (trace::kLengthVaries - 1);
  return packed < trace::kLengthVaries ? fixed : fixed + record[12];
}
void write_sites();
// True if the object is in the program itself, or in a shared library with instrumented code.
bool is_instrumented_object(const void* begin, const void* end);
// True if the code is the program's own, or in a shared library with instrumented code.
bool is_recorded_code(const void* code);
// Appends a site of a function that isn't instrumented, in line 1 of a file.
void make_site(trace::SiteKind kind, std::uint8_t size, std::uint8_t flags, const char* file,
               const char* function);
// The modules that have been registered: an address in each of them.
std::size_t module_count();
const void* module_at(std::size_t number);
// Called with an address in each module that is registered from now on.
extern void (*on_module)(const void* module);
bool is_system_file(std::uint32_t site);
// Writes "file:line" of a site into `text`; "an unknown place" if it has none.
void describe_site(std::uint32_t site, char* text, std::size_t bytes);

}  // namespace pmemsim::rt
