// Notes for the user on constructs that a recording lacks. The trace's metadata contain them.
#pragma once

#include <cstddef>

#include "reserved_memory.hpp"

namespace pmemsim::rt {

inline constexpr std::size_t kMostPartialNotes = 64;
extern List<const char*, kMostPartialNotes> partial_notes;  // in order of their first occurrence

// Adds the text, which must remain valid, unless it is there already or the list is full.
void note_partial(const char* text);

}  // namespace pmemsim::rt
