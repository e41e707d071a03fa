// The mappings whose addresses in the trace differ from the program's (persistent.cpp says why).
// Translates addresses of the program to addresses of the trace.
#include "trace_addresses.hpp"

#include <cstring>

#include "record.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"

namespace pmemsim::rt {

List<Mapping, 1u << 20> mappings;  // ordered by address; they don't overlap
std::size_t moved_mappings = 0;

namespace {

// Addresses that a kernel assigns only on request, between the pools of pmemsim/pm.h and the
// addresses where programs are loaded.
constexpr std::uint64_t kReservedBase = 0x3800'0000'0000, kReservedEnd = 0x5000'0000'0000;
std::uint64_t next_reserved = kReservedBase;

// Returns the index of the first mapping that ends behind the address.
std::size_t first_behind(std::uint64_t address) {
  std::size_t low = 0, high = mappings.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (mappings[middle].end > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void insert(std::size_t at, const Mapping& mapping) {
  if (!mappings.push(mapping)) fail("%s maps too many files", program_name);
  std::memmove(&mappings[at] + 1, &mappings[at], (mappings.size() - 1 - at) * sizeof(Mapping));
  mappings[at] = mapping;
  if (mapping.moved()) ++moved_mappings;
}

void erase(std::size_t at) {
  if (mappings[at].moved()) --moved_mappings;
  std::memmove(&mappings[at], &mappings[at] + 1, (mappings.size() - 1 - at) * sizeof(Mapping));
  mappings.shrink(mappings.size() - 1);
}

Mapping part_of(const Mapping& whole, std::uint64_t begin, std::uint64_t end) {
  Mapping part = whole;
  part.begin = begin;
  part.end = end;
  part.trace_address += begin - whole.begin;
  part.offset += begin - whole.begin;
  return part;
}

}  // namespace

Mapping* find_mapping(std::uint64_t address) {
  const std::size_t at = first_behind(address);
  return at < mappings.size() && mappings[at].begin <= address ? &mappings[at] : nullptr;
}

void remove_mappings(std::uint64_t begin, std::uint64_t end) {
  for (std::size_t at = first_behind(begin); at < mappings.size() && mappings[at].begin < end;) {
    const Mapping whole = mappings[at];
    if (whole.moved()) translate_records();
    erase(at);
    if (whole.begin < begin) insert(at++, part_of(whole, whole.begin, begin));
    if (whole.end > end) insert(at++, part_of(whole, end, whole.end));
  }
}

void add_mapping(const Mapping& mapping) {
  remove_mappings(mapping.begin, mapping.end);
  if (mapping.moved()) translate_records();
  insert(first_behind(mapping.begin), mapping);
}

void move_mappings(std::uint32_t memory, std::uint64_t trace_address) {
  translate_records();
  for (Mapping& mapping : mappings) {
    if (mapping.memory != memory) continue;
    if (mapping.moved()) --moved_mappings;
    mapping.trace_address = trace_address + mapping.offset;
    if (mapping.moved()) ++moved_mappings;
  }
}

std::uint64_t moved_trace_address(std::uint64_t address) {
  const Mapping* mapping = find_mapping(address);
  return mapping == nullptr ? address : mapping->trace_address + (address - mapping->begin);
}

std::uint64_t reserve_trace_addresses(std::uint64_t bytes) {
  if (bytes > kReservedEnd - next_reserved) fail("%s maps too many PM files", program_name);
  const std::uint64_t next = next_reserved;
  next_reserved += bytes;
  return next;
}

bool is_reserved_trace_address(std::uint64_t address) {
  return address >= kReservedBase && address < next_reserved;
}

}  // namespace pmemsim::rt
