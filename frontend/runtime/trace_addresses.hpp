// Addresses of memory in the trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reserved_memory.hpp"

namespace pmemsim::rt {

inline constexpr std::uint32_t kVolatile = UINT32_MAX;
struct Mapping {
  std::uint64_t begin, end;
  std::uint64_t trace_address;  // its address in the trace
  std::uint64_t offset;         // offset in the memory
  std::uint32_t memory;         // index into `memories`, or kVolatile
  bool moved() const { return trace_address != begin; }
};
// Mappings that the runtime tracks, by address. All other memory has the same address in the trace.
extern List<Mapping, 1u << 20> mappings;
extern std::size_t moved_mappings;
Mapping* find_mapping(std::uint64_t address);  // nullptr: it isn't in `mappings`
void add_mapping(const Mapping& mapping);      // replaces mappings at the same addresses
void remove_mappings(std::uint64_t begin, std::uint64_t end);
void move_mappings(std::uint32_t memory, std::uint64_t trace_address);
std::uint64_t moved_trace_address(std::uint64_t address);
inline std::uint64_t trace_address_of(std::uint64_t address) {
  return __builtin_expect(moved_mappings == 0, 1) ? address : moved_trace_address(address);
}
inline std::uint64_t trace_address_of(const volatile void* address) {
  return trace_address_of(std::uint64_t{reinterpret_cast<std::uintptr_t>(address)});
}
// Reserves addresses of the trace that no memory of the program has.
std::uint64_t reserve_trace_addresses(std::uint64_t bytes);
bool is_reserved_trace_address(std::uint64_t address);

}  // namespace pmemsim::rt
