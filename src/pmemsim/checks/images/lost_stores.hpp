// The stores that an image has lost although they were visible at the crash, as data: code that
// proposes corrections of the program uses them. image_explanation.hpp has the texts for users.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/checks/images/allowed_images.hpp"
#include "pmemsim/checks/rules/persist_calls.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {

struct LostStore {
  enum class Why : std::uint8_t {
    kNotFlushed,
    kNotFenced,   // Flushed by `flush`, which no fence has completed
    kNonTemporal  // No fence followed
  };

  trace::SourceLocation place{};
  std::uint32_t thread = 0;
  std::uint64_t number = 0;  // Number of the thread's operation
  Why why{};
  std::optional<check::PersistCall> flush;
  // The thread's next store that the image contains and that is on another source line. A fence
  // should have separated the lost store from it.
  std::optional<trace::SourceLocation> kept;
};

std::string_view name_of(LostStore::Why why);

// Returns the lost stores of the current image of `images`, the latest first, one for each source
// line, thread and reason; `calls` are the recording's persist calls. Throws trace::TraceError.
std::vector<LostStore> lost_stores(const trace::TraceFile& trace, const AllowedImages& images,
                                   std::span<const check::PersistCall> calls);

}  // namespace pmemsim
