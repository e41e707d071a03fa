#include "partial.hpp"

#include <cstring>

#include "exported.hpp"
#include "persistent.hpp"
#include "pmemsim_rt.h"
#include "status.hpp"

namespace pmemsim::rt {

List<const char*, kMostPartialNotes> partial_notes;

namespace {

// Texts of compiled code, by address: code that is noted may run often.
Map<bool> seen;

}  // namespace

void note_partial(const char* text) {
  for (const char* noted : partial_notes) {
    if (std::strcmp(noted, text) == 0) return;
  }
  partial_notes.push(text);
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT void pmemsim_rt_partial(const char* text, const volatile void* address) {
  if (!recording() || !active()) return;
  if (address != nullptr && !is_persistent(const_cast<const void*>(address))) return;
  bool& noted = seen[reinterpret_cast<std::uintptr_t>(text)];
  if (noted) return;
  noted = true;
  // The text is in a library that may be unloaded.
  const std::size_t bytes = std::strlen(text) + 1;
  note_partial(static_cast<const char*>(std::memcpy(allocate(bytes), text, bytes)));
}
