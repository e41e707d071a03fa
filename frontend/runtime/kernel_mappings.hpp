// The kernel's list of mappings.
#pragma once

#include "address_range.hpp"

namespace pmemsim::rt {

struct MappedRange {
  Range range;
  bool readable, shared;
  const char* name;  // a file's path, "[heap]", ...
};
// Calls visit(data, mapping) for each mapping.
void visit_mappings(void (*visit)(void*, const MappedRange&), void* data);
template <class Visit>
void for_each_mapping(Visit visit) {
  visit_mappings(
      [](void* data, const MappedRange& mapping) { (*static_cast<Visit*>(data))(mapping); },
      &visit);
}

}  // namespace pmemsim::rt
